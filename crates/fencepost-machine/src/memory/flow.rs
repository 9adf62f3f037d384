//! What a controller knows about the free entries of its memory module.

use fencepost_kernel::Ps;
use std::fmt::Debug;

/// Decides when the controller may send a write to the module.
///
/// [`Entries`] is the default: the controller always knows. A design may bring its own
/// ([`ControllerParts::flow_control`](crate::seam::ControllerParts::flow_control)), for example credits of which the controller holds a copy
/// that only reads bring up to date: whatever the module knows when a read reaches it travels back with the data.
pub trait FlowControl: Debug {
    /// May a write of this queue leave for the module?
    fn may_send(&self, queue: u8) -> bool;
    /// A write of the queue leaves for the module.
    fn sent(&mut self, queue: u8);
    /// In the module: a write of the queue has been stored (or is in the module's cache), and its entry is free.
    fn freed(&mut self, queue: u8);
    /// In the module: a read, sent at `now`, reaches it; its data arrives at the controller at `arrives`. `query`: it is one of the reads
    /// that [`FlowControl::wants_query`] asked for.
    fn read_reached(&mut self, _now: Ps, _arrives: Ps, _query: bool) {}
    /// Data that arrives at `now` or arrived before has reached the controller. Whether the design waits for what it tells
    /// ([`Design::flow_changed`](crate::seam::Design::flow_changed)).
    fn arrived(&mut self, _now: Ps) -> bool {
        false
    }
    /// Should the controller send a read that asks only for what the module knows? It takes the bus of channel 0 for a
    /// burst. Asked after each of the other calls.
    fn wants_query(&self) -> bool {
        false
    }
    /// When the next such read may be sent at the earliest.
    fn asks_from(&self) -> Ps {
        Ps::ZERO
    }
}

/// Entries of the module, divided evenly over the queues, of which the controller always knows how many are free.
#[derive(Clone, Debug)]
pub struct Entries {
    each: u16,
    used: Vec<u16>,
}
impl Entries {
    /// `each` free entries for every queue.
    pub fn new(queues: u8, each: u16) -> Entries {
        Entries {
            each,
            used: vec![0; usize::from(queues)],
        }
    }
}
impl FlowControl for Entries {
    fn may_send(&self, queue: u8) -> bool {
        self.used[usize::from(queue)] < self.each
    }
    fn sent(&mut self, queue: u8) {
        self.used[usize::from(queue)] += 1;
    }
    fn freed(&mut self, queue: u8) {
        self.used[usize::from(queue)] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_has_its_own_entries() {
        let mut e = Entries::new(2, 1);
        e.sent(0);
        assert_eq!((e.may_send(0), e.may_send(1)), (false, true));
        e.freed(0);
        assert!(e.may_send(0));
    }
}
