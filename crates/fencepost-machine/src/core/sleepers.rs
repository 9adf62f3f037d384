//! What of a thread waits although it might go on.

use super::outside::Outside;
use super::state::{HardwareThread, Refused, Stopped};
use super::store_queue::StoreState;
use crate::frontend::OpKind;

impl HardwareThread {
    /// Asks again for everything that was refused, without being woken. What goes on now was asleep; the run is of no use then.
    pub(crate) fn asleep(&mut self, out: &mut impl Outside) -> Option<String> {
        if self.might_dispatch(out) {
            return Some("dispatch".into());
        }
        if !self.blocked_loads.is_empty() && out.blocked(self.id).is_none() {
            return Some("a load that was blocked".into());
        }
        std::mem::swap(&mut self.refused, &mut self.asked_again);
        let mut asleep = None;
        for i in 0..self.asked_again.len() {
            let what = self.asked_again[i];
            let before = asleep.is_some();
            match what {
                Refused::Stores => asleep = asleep.or(self.store_asleep(out)),
                Refused::Head => self.head(out),
                Refused::Load(at) => self.load(out, at),
            }
            if !before && !self.refused.contains(&what) {
                asleep = asleep.or(Some(what.text().into()));
            }
        }
        self.asked_again.clear();
        asleep
    }
    /// The first of the refused stores that would perform now. As [`HardwareThread::retry_stores`], but they take no turn at the port.
    fn store_asleep(&mut self, out: &mut impl Outside) -> Option<String> {
        self.refuse(Refused::Stores);
        for i in self.stores.positions() {
            let Some(s) = self.stores.get(i).copied() else { continue };
            let StoreState::Refused(cause) = s.state else { continue };
            // Another cache has the line since: it would be taken from there before the design is asked.
            if s.op.kind == OpKind::NtStore && out.held(s.line()) {
                continue;
            }
            self.try_store(out, i, &s);
            let state = self.stores.get(i).map(|s| s.state);
            if !matches!(state, Some(StoreState::Refused(_))) {
                return Some(format!("{:?} of {}, refused for {cause:?},", s.op.kind, s.line()));
            }
        }
        None
    }
    /// Whether there is room for what dispatch stopped at.
    fn might_dispatch(&self, out: &impl Outside) -> bool {
        let shape = out.shape();
        match self.stopped {
            Some(Stopped::Window) => self.committed > self.window.first(),
            Some(Stopped::StoreQueue) if shape.in_order() => self.stores.is_empty(),
            Some(Stopped::StoreQueue) => self.stores.len() < shape.store_queue as usize,
            _ => false,
        }
    }
}
impl Refused {
    fn text(self) -> &'static str {
        match self {
            Refused::Head => "the oldest instruction",
            Refused::Load(_) => "a load",
            Refused::Stores => "the store queue",
        }
    }
}
