//! What the design refused is asked again.

use super::outside::Outside;
use super::state::{HardwareThread, Refused};

impl HardwareThread {
    /// Asks the design again about everything it refused to this thread.
    pub(crate) fn ask_again(&mut self, out: &mut impl Outside) {
        // What is refused again goes into the other list, so that neither has to be made anew.
        std::mem::swap(&mut self.refused, &mut self.asked_again);
        for i in 0..self.asked_again.len() {
            match self.asked_again[i] {
                Refused::Head => self.head(out),
                Refused::Load(at) => self.load(out, at),
                Refused::Stores => self.retry_stores(out),
            }
        }
        self.asked_again.clear();
        if !self.blocked_loads.is_empty() && out.blocked(self.id).is_none() {
            for at in std::mem::take(&mut self.blocked_loads) {
                self.load(out, at);
            }
        }
    }
}
