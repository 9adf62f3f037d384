//! Which request next: the interface of a scheduler, the default one, and the channels that issue what was chosen.

mod bank_queues;
mod candidates;
mod channel;
mod choice;
mod command;
mod context;
mod fr_fcfs;
mod issue;
mod look;
mod turn;

pub(super) use bank_queues::{Request, RowState};
pub(super) use channel::ChannelScheduler;
pub use choice::{Choice, Handle, OpenRow};
pub(super) use context::Context;
pub use fr_fcfs::FrFcfs;

use super::writes::{Slot, Writes};
use crate::memory::{Write, WriteId};
use fencepost_kernel::{LineAddr, Ps};
use std::fmt::Debug;
use std::ops::Range;

/// A request that waits for its bank.
#[derive(Copy, Clone, Debug)]
pub struct Waiting<'a> {
    /// Names it in the answer.
    pub handle: Handle,
    /// Its line.
    pub line: LineAddr,
    /// Its row.
    pub row: u64,
    /// When it came to the bank.
    pub since: Ps,
    /// Its place in the order of arrival at the banks of its channel; smaller is older.
    pub order: u64,
    /// Whether a row was closed or opened for it.
    pub begun: bool,
    /// Of a write: its id, and what it writes.
    pub write: Option<(WriteId, &'a Write)>,
}

impl<'a> Waiting<'a> {
    /// A request of the write queues.
    fn of_write(queues: &'a Writes, handle: Handle, order: u64, r: &Request) -> Waiting<'a> {
        let slot = r.key as Slot;
        Waiting {
            handle,
            line: r.line,
            row: r.row,
            since: r.since,
            order,
            begun: r.found != RowState::Hit,
            write: Some((queues.id(slot), queues.write(slot))),
        }
    }
}

/// Chooses the next request of every bank.
///
/// The channel decides when: it issues a column command as soon as the open row is the right one and ready, else
/// the commands that open the row, and serves the banks that are ready together by [`Choice::rank`]. The queues
/// decide what may go at all: a write is offered when no older write to its line waits and its epoch has its turn
/// (unless [`QueuePlan::scheduler_orders`](crate::memory::QueuePlan::scheduler_orders)).
///
/// [`FrFcfs`] serves reads always, and writes unless the design supplies a scheduler of its own
/// ([`ControllerParts::scheduler`](crate::seam::ControllerParts::scheduler)); one object then serves all channels.
pub trait Scheduler: Debug {
    /// Of the requests that wait for a bank and may go, oldest first, the one to serve next. `None`: none of them now.
    /// Asked again after each of the other calls for the banks of [`Scheduler::concerned`], and of a bank after any command to it and
    /// when a request comes to it.
    fn next(&mut self, now: Ps, open: &OpenRow, waiting: &mut dyn Iterator<Item = Waiting<'_>>) -> Option<Choice>;
    /// After other calls, before [`Scheduler::next`]: of the banks of a channel, those for which the answer may be another than the last
    /// one, a bit each, the first one lowest. By default all.
    fn concerned(&mut self, _now: Ps, _banks: Range<u16>) -> u64 {
        u64::MAX
    }
    /// A write was accepted in an entry of its own (not merged into another); `bank` as in [`OpenRow::bank`].
    fn arrived(&mut self, _now: Ps, _bank: u16, _id: WriteId, _write: &Write) {}
    /// The data of a write goes to the medium: its bank may take another.
    fn issued(&mut self, _now: Ps, _bank: u16, _id: WriteId, _write: &Write) {}
    /// The medium has stored a write.
    fn stored(&mut self, _now: Ps, _bank: u16, _id: WriteId, _write: &Write) {}
    /// Time from one of these calls to the answer of [`Scheduler::next`]; no write issues meanwhile.
    fn delay(&self) -> Ps {
        Ps::ZERO
    }
    /// What is wrong with what it keeps, if anything is: asked in runs that look for that.
    fn unsound(&self) -> Option<String> {
        None
    }
    /// When to ask again although nothing has happened, if the answers depend on time.
    fn wake(&self, _now: Ps) -> Option<Ps> {
        None
    }
}
