//! Whether commits are in a state that they may be in.

use super::{Commits, Stage};

impl Commits {
    /// What is wrong with who commits and who waits, if anything is.
    pub(in crate::fgc) fn unsound(&self) -> Option<String> {
        let (credits, mut asking) = (self.credits.borrow(), 0u64);
        for (queue, (c, behind)) in (0..).zip(self.queues.iter().zip(&self.behind)) {
            let own = c.iter().map(|c| c.hw_thread);
            for hw_thread in own.chain(behind.iter().copied()) {
                if asking >> hw_thread.0 & 1 == 1 {
                    return Some(format!("thread {} waits for two commits", hw_thread.0));
                }
                asking |= 1 << hw_thread.0;
            }
            let flagged = c.is_some_and(|c| matches!(c.stage, Stage::Flagged(..)));
            if credits.is_committing(queue) != flagged {
                return Some(format!("the committing flag of queue {queue}"));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fgc::credits::Credits;
    use crate::fgc::params::CommitFault;
    use crate::testkit::MockCx;
    use fencepost_kernel::{HwThread, Ps};
    use std::cell::RefCell;
    use std::rc::Rc;

    #[test]
    fn a_thread_waits_for_one_commit_and_the_flag_is_set_while_it_polls() {
        let credits = Rc::new(RefCell::new(Credits::new(3, 0, CommitFault::None)));
        let mut cx = MockCx::new(4, 1, 3, 8);
        let mut commits = Commits::new(Rc::clone(&credits), 3, Ps(100), CommitFault::None);
        let _ = commits.ask(&mut cx, HwThread(2), 1, false);
        let _ = commits.ask(&mut cx, HwThread(3), 1, false);
        assert_eq!(commits.unsound(), None);
        credits.borrow_mut().set_committing(1, true);
        assert_eq!(commits.unsound().as_deref(), Some("the committing flag of queue 1"));
        credits.borrow_mut().set_committing(1, false);
        commits.behind[2].push_back(HwThread(3));
        assert_eq!(commits.unsound().as_deref(), Some("thread 3 waits for two commits"));
    }
}
