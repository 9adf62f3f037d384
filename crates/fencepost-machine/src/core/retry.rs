//! What the design refused is asked again.

use super::outside::Outside;
use super::state::{HardwareThread, Refused};

impl HardwareThread {
    /// Asks the design again about everything it refused to this thread.
    pub fn ask_again(&mut self, out: &mut impl Outside) {
        for r in std::mem::take(&mut self.refused) {
            match r {
                Refused::Head => self.head(out),
                Refused::Load(id) => self.load(out, id),
                Refused::Stores => self.retry_stores(out),
            }
        }
        if out.blocked(self.id).is_none() {
            for id in std::mem::take(&mut self.blocked_loads) {
                self.load(out, id);
            }
        }
    }
}
