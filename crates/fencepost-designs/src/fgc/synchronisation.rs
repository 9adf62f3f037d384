//! The read with which the controller of global committing learns that its memory module is empty.
//!
//! The paper (section IV-B): *Global committing is considered as using one synchronization operation in one committing period.* It is
//! the read that per-task committing sends for credits, on the same channel.

use fencepost_kernel::Ps;
use fencepost_machine::memory::{Entries, FlowControl};
use std::cell::Cell;
use std::rc::Rc;

/// How far the question has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is asked.
    Nothing,
    /// The controller is to ask.
    Wanted,
    /// The answer arrives at this time.
    UnderWay(Ps),
}

/// The design's side.
#[derive(Clone, Debug)]
pub(super) struct Synchronisation {
    stage: Rc<Cell<Stage>>,
    has_module: Rc<Cell<bool>>,
}

impl Synchronisation {
    /// Nothing is asked, and no module known.
    pub(super) fn new() -> Synchronisation {
        Synchronisation {
            stage: Rc::new(Cell::new(Stage::Nothing)),
            has_module: Rc::default(),
        }
    }
    /// There is a module of so many entries: what the controller knows of it.
    pub(super) fn with_module(&self, entries: u16) -> Box<dyn FlowControl> {
        self.has_module.set(true);
        Box::new(Asking {
            entries: Entries::new(1, entries),
            stage: self.stage.clone(),
        })
    }
    /// Has the controller ask; whether there is anyone to ask.
    pub(super) fn ask(&self) -> bool {
        if self.has_module.get() {
            self.stage.set(Stage::Wanted);
        }
        self.has_module.get()
    }
}

/// The controller's side.
#[derive(Debug)]
struct Asking {
    entries: Entries,
    stage: Rc<Cell<Stage>>,
}

impl FlowControl for Asking {
    fn may_send(&self, queue: u8) -> bool {
        self.entries.may_send(queue)
    }
    fn sent(&mut self, queue: u8) {
        self.entries.sent(queue);
    }
    fn freed(&mut self, queue: u8) {
        self.entries.freed(queue);
    }
    fn read_reached(&mut self, _: Ps, arrives: Ps, query: bool) {
        if query {
            self.stage.set(Stage::UnderWay(arrives));
        }
    }
    fn arrived(&mut self, now: Ps) -> bool {
        let answered = matches!(self.stage.get(), Stage::UnderWay(at) if at <= now);
        if answered {
            self.stage.set(Stage::Nothing);
        }
        answered
    }
    fn wants_query(&self) -> bool {
        self.stage.get() == Stage::Wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_is_answered_once_when_its_own_read_arrives() {
        let s = Synchronisation::new();
        assert!(!s.ask(), "there is no module");
        let mut flow = s.with_module(2);
        assert!(!flow.wants_query());
        assert!(s.ask() && flow.wants_query());
        flow.read_reached(Ps(0), Ps(50), false);
        assert!(
            !flow.arrived(Ps(50)) && flow.wants_query(),
            "a read of data is no question"
        );
        flow.read_reached(Ps(10), Ps(60), true);
        assert!(!flow.wants_query());
        assert_eq!([59, 60, 61].map(|at| flow.arrived(Ps(at))), [false, true, false]);
    }
}
