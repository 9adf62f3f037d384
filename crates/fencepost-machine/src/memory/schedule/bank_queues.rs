//! Queued requests of one direction on one channel, by bank and age.

use super::candidates::Candidates;
use super::choice::{Choice, Handle};
use crate::memory::bits::each;
use crate::memory::timing::{Channel, Direction};
use fencepost_kernel::{LineAddr, Ps};
use std::collections::VecDeque;

/// What had to be done to a bank for a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RowState {
    /// Nothing: its row was open.
    Hit,
    /// The row was opened for it.
    Opened,
    /// Another row was closed for it.
    Conflict,
}

/// A queued request, located.
#[derive(Copy, Clone, Debug)]
pub struct Request {
    /// Read id, or entry of the write queue.
    pub key: u64,
    /// The line.
    pub line: LineAddr,
    /// Bank within the channel.
    pub bank: u8,
    /// Row.
    pub row: u64,
    /// When it entered the queue.
    pub since: Ps,
    /// What was done for it so far.
    pub found: RowState,
}

/// Index of a request while it is queued.
type Node = u16;

/// No request.
const NONE: Node = Node::MAX;

#[derive(Clone, Debug)]
struct Queued {
    request: Request,
    /// Age: smaller is older, from 1; 0 once the request has left.
    order: u64,
    /// Neighbours in the bank's list.
    next: Node,
    previous: Node,
}

/// The oldest and the youngest request of a bank.
#[derive(Copy, Clone, Debug)]
struct Ends {
    head: Node,
    tail: Node,
}

/// Requests of one direction, oldest first in every bank.
#[derive(Clone, Debug)]
pub struct BankQueues {
    direction: Direction,
    /// Requests need no open row.
    any_row: bool,
    nodes: Vec<Queued>,
    free: Vec<Node>,
    banks: Vec<Ends>,
    /// Banks that hold requests, and those whose next request must be chosen again, a bit each.
    occupied: u64,
    stale: u64,
    next: Candidates,
    /// In order of arrival; requests that left are dropped when they come to the front.
    arrivals: VecDeque<(Node, u64)>,
    len: usize,
    order: u64,
}

impl BankQueues {
    /// No requests, for this many banks. `any_row`: they can be served whatever row is open.
    pub fn new(direction: Direction, banks: usize, any_row: bool) -> BankQueues {
        let empty = Ends { head: NONE, tail: NONE };
        BankQueues {
            direction,
            any_row,
            nodes: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            banks: vec![empty; banks],
            occupied: 0,
            stale: 0,
            next: Candidates::new(),
            arrivals: VecDeque::with_capacity(64),
            len: 0,
            order: 0,
        }
    }
    /// Whether requests can be served whatever row is open.
    pub fn any_row(&self) -> bool {
        self.any_row
    }
    /// The next request of every bank, as of the last [`BankQueues::choose`].
    #[inline]
    pub fn next(&self) -> &Candidates {
        &self.next
    }
    /// Whether a bank has its next request, or has to look for it.
    #[inline]
    pub fn has_choice(&self, bank: usize) -> bool {
        (self.stale | self.next.hits() | self.next.misses()) & (1 << bank) != 0
    }
    /// Number of requests.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The request that has waited longest.
    #[inline]
    pub fn oldest(&self) -> Option<&Request> {
        self.arrivals.front().map(|(n, _)| &self.nodes[usize::from(*n)].request)
    }
    /// A queued request.
    #[inline]
    pub fn request(&mut self, handle: Handle) -> &mut Request {
        &mut self.nodes[usize::from(handle.0)].request
    }

    /// Adds the youngest request; `eligible`: whether it may issue as far as its queue is concerned. Answers whether the
    /// channel has to look: not if the bank's choice is an older request that stays the choice first come, first served.
    pub fn push(&mut self, request: Request, channel: &Channel, eligible: bool) -> bool {
        let bank = usize::from(request.bank);
        let ends = &mut self.banks[bank];
        self.order += 1;
        let queued = Queued {
            request,
            order: self.order,
            next: NONE,
            previous: ends.tail,
        };
        let node = match self.free.pop() {
            Some(n) => {
                self.nodes[usize::from(n)] = queued;
                n
            }
            None => {
                self.nodes.push(queued);
                (self.nodes.len() - 1) as Node
            }
        };
        match std::mem::replace(&mut ends.tail, node) {
            NONE => ends.head = node,
            youngest => self.nodes[usize::from(youngest)].next = node,
        }
        self.arrivals.push_back((node, self.order));
        self.len += 1;
        let bit = 1u64 << bank;
        self.occupied |= bit;
        let is_hit = self.any_row || channel.banks[bank].row == Some(request.row);
        let settled =
            self.stale & bit == 0 && (self.next.hits() & bit != 0 || (self.next.misses() & bit != 0 && !is_hit));
        if eligible && !settled {
            self.stale |= bit;
        }
        self.len == 1 || (eligible && !settled)
    }
    /// Takes a request out.
    pub fn remove(&mut self, handle: Handle) -> Request {
        let q = &mut self.nodes[usize::from(handle.0)];
        q.order = 0;
        let (request, next, previous) = (q.request, q.next, q.previous);
        let ends = &mut self.banks[usize::from(request.bank)];
        match previous {
            NONE => ends.head = next,
            p => self.nodes[usize::from(p)].next = next,
        }
        match next {
            NONE => ends.tail = previous,
            n => self.nodes[usize::from(n)].previous = previous,
        }
        let bit = 1u64 << request.bank;
        if ends.head == NONE {
            self.occupied &= !bit;
        }
        self.stale |= bit;
        self.free.push(handle.0);
        self.len -= 1;
        while let Some((n, order)) = self.arrivals.front() {
            if self.nodes[usize::from(*n)].order == *order {
                break;
            }
            self.arrivals.pop_front();
        }
        request
    }

    /// The rows of these banks (a bit each), how often they were hit, or the eligibility of requests for them, may have
    /// changed.
    #[inline]
    pub fn changed(&mut self, banks: u64) {
        self.stale |= banks;
    }
    /// The same of every bank.
    pub fn all_changed(&mut self) {
        self.changed(u64::MAX);
    }

    /// Brings the next requests up to date for a look at `now`: `choose` is asked about every bank for which something
    /// changed, with its requests from the oldest on.
    #[inline]
    pub fn choose(
        &mut self,
        channel: &Channel,
        now: Ps,
        choose: impl FnMut(usize, BankRequests<'_>) -> Option<Choice>,
    ) {
        // No command goes before the bus is free: what is ready then is as good as ready now.
        let free = now.max(channel.next_command);
        self.next.ripen(free);
        if self.stale != 0 {
            self.choose_again(channel, choose);
            self.next.ripen(free);
        }
    }
    fn choose_again(&mut self, channel: &Channel, mut choose: impl FnMut(usize, BankRequests<'_>) -> Option<Choice>) {
        let stale = std::mem::take(&mut self.stale);
        self.next.clear(stale);
        for bank in each(stale & self.occupied) {
            let requests = BankRequests {
                nodes: &self.nodes,
                next: self.banks[bank].head,
            };
            let Some(choice) = choose(bank, requests) else {
                continue;
            };
            let row = self.nodes[usize::from(choice.handle.0)].request.row;
            let hit = self.any_row || channel.banks[bank].row == Some(row);
            let ready = match hit {
                true => channel.bank_column_at(bank, self.direction),
                false => channel.bank_row_at(bank),
            };
            self.next.set(bank, choice, hit, ready);
        }
    }
    /// Banks whose row was opened for their next request.
    pub fn opened(&self) -> u64 {
        each(self.next.hits()).fold(0, |opened, bank| {
            let request = &self.nodes[usize::from(self.next.handle(bank).0)].request;
            opened | u64::from(request.found != RowState::Hit) << bank
        })
    }
}

/// The requests of a bank, oldest first, with their places in the order of arrival.
pub struct BankRequests<'a> {
    nodes: &'a [Queued],
    next: Node,
}
impl<'a> Iterator for BankRequests<'a> {
    type Item = (Handle, u64, &'a Request);
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // Behind the last there is none.
        let q = self.nodes.get(usize::from(self.next))?;
        let handle = Handle(std::mem::replace(&mut self.next, q.next));
        Some((handle, q.order, &q.request))
    }
}
