//! Queued requests of one direction on one channel, by bank and age, with the choice of each bank kept ready.

use super::choice::{Choice, Handle};
use crate::memory::timed::NEVER;
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

/// The banks of a mask.
#[inline]
pub fn each(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bank = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bank < 64).then_some(bank)
    })
}

/// Index of a request while it is queued.
type Node = u16;

#[derive(Clone, Debug)]
struct Queued {
    request: Request,
    /// Age: smaller is older.
    order: u64,
    next: Option<Node>,
    previous: Option<Node>,
    live: bool,
}

#[derive(Copy, Clone, Debug)]
struct Bank {
    head: Option<Node>,
    tail: Option<Node>,
    choice: Handle,
}

/// Requests of one direction, oldest first in every bank.
#[derive(Clone, Debug)]
pub struct BankQueues {
    direction: Direction,
    /// Requests need no open row.
    any_row: bool,
    nodes: Vec<Queued>,
    free: Vec<Node>,
    banks: Vec<Bank>,
    /// A bit per bank: holds requests; must be chosen for again; has a choice for its open row; for another row.
    occupied: u64,
    stale: u64,
    hits: u64,
    misses: u64,
    /// Banks whose choice is known to be ready for its command; time only moves on.
    ripe: u64,
    /// By bank: when the bank itself is ready for the command that its choice needs.
    ready: [Ps; 64],
    /// By bank: the rank of its choice.
    ranks: [u64; 64],
    /// In order of arrival; requests that left are dropped when they come to the front.
    arrivals: VecDeque<(Node, u64)>,
    len: usize,
    order: u64,
}

impl BankQueues {
    /// No requests, for this many banks. `any_row`: they can be served whatever row is open.
    pub fn new(direction: Direction, banks: usize, any_row: bool) -> BankQueues {
        let empty = Bank {
            head: None,
            tail: None,
            choice: Handle(0),
        };
        BankQueues {
            direction,
            any_row,
            nodes: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            banks: vec![empty; banks],
            occupied: 0,
            stale: 0,
            hits: 0,
            misses: 0,
            ripe: 0,
            ready: [Ps::ZERO; 64],
            ranks: [0; 64],
            arrivals: VecDeque::with_capacity(64),
            len: 0,
            order: 0,
        }
    }
    /// Whether requests can be served whatever row is open.
    pub fn any_row(&self) -> bool {
        self.any_row
    }
    /// Whether a bank has its next request, or has to look for it.
    pub fn has_choice(&self, bank: usize) -> bool {
        (self.stale | self.hits | self.misses) & (1 << bank) != 0
    }
    /// Number of requests.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The request that has waited longest.
    pub fn oldest(&self) -> Option<&Request> {
        self.arrivals.front().map(|(n, _)| &self.nodes[usize::from(*n)].request)
    }
    /// A queued request.
    pub fn request(&mut self, handle: Handle) -> &mut Request {
        &mut self.nodes[usize::from(handle.0)].request
    }

    /// Adds the youngest request; `eligible`: whether it may issue as far as its queue is concerned. Answers whether the
    /// channel has to look: not if the bank's choice is an older request that stays the choice first come, first served.
    pub fn push(&mut self, request: Request, channel: &Channel, eligible: bool) -> bool {
        let bank = usize::from(request.bank);
        let previous = self.banks[bank].tail;
        self.order += 1;
        let queued = Queued {
            request,
            order: self.order,
            next: None,
            previous,
            live: true,
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
        match previous {
            Some(p) => self.nodes[usize::from(p)].next = Some(node),
            None => self.banks[bank].head = Some(node),
        }
        self.banks[bank].tail = Some(node);
        self.arrivals.push_back((node, self.order));
        self.len += 1;
        let bit = 1u64 << bank;
        self.occupied |= bit;
        let is_hit = self.any_row || channel.banks[bank].row == Some(request.row);
        let settled = self.stale & bit == 0 && (self.hits & bit != 0 || (self.misses & bit != 0 && !is_hit));
        if eligible && !settled {
            self.stale |= bit;
        }
        self.len == 1 || (eligible && !settled)
    }
    /// Takes a request out.
    pub fn remove(&mut self, handle: Handle) -> Request {
        let (request, next, previous) = {
            let q = &mut self.nodes[usize::from(handle.0)];
            q.live = false;
            (q.request, q.next, q.previous)
        };
        let bank = &mut self.banks[usize::from(request.bank)];
        match previous {
            Some(p) => self.nodes[usize::from(p)].next = next,
            None => bank.head = next,
        }
        match next {
            Some(n) => self.nodes[usize::from(n)].previous = previous,
            None => bank.tail = previous,
        }
        let bit = 1u64 << request.bank;
        if bank.head.is_none() {
            self.occupied &= !bit;
        }
        self.stale |= bit;
        self.free.push(handle.0);
        self.len -= 1;
        while let Some((n, order)) = self.arrivals.front() {
            let q = &self.nodes[usize::from(*n)];
            if q.live && q.order == *order {
                break;
            }
            self.arrivals.pop_front();
        }
        request
    }

    /// The open row of a bank changed, or how often it was hit.
    pub fn bank_changed(&mut self, bank: usize) {
        self.stale |= 1 << bank;
    }
    /// The rows of these banks (a bit each), or the eligibility of requests for them, may have changed.
    pub fn changed(&mut self, banks: u64) {
        self.stale |= banks;
    }
    /// The same of every bank.
    pub fn all_changed(&mut self) {
        self.changed(u64::MAX);
    }

    /// Brings the choices up to date at `now`: `choose` is asked about every bank for which something changed, with its
    /// requests from the oldest on.
    pub fn choose(
        &mut self,
        channel: &Channel,
        now: Ps,
        mut choose: impl FnMut(usize, BankRequests<'_>) -> Option<Choice>,
    ) {
        let mut stale = std::mem::take(&mut self.stale);
        self.hits &= !stale;
        self.misses &= !stale;
        self.ripe &= !stale;
        stale &= self.occupied;
        for bank in each(stale) {
            let requests = BankRequests {
                nodes: &self.nodes,
                next: self.banks[bank].head,
            };
            let Some(choice) = choose(bank, requests) else {
                continue;
            };
            self.banks[bank].choice = choice.handle;
            self.ranks[bank & 63] = choice.rank;
            let row = self.nodes[usize::from(choice.handle.0)].request.row;
            if self.any_row || channel.banks[bank].row == Some(row) {
                self.hits |= 1 << bank;
                self.ready[bank & 63] = channel.bank_column_at(bank, self.direction);
            } else {
                self.misses |= 1 << bank;
                self.ready[bank & 63] = channel.bank_row_at(bank);
            }
        }
        for bank in each((self.hits | self.misses) & !self.ripe) {
            self.ripe |= u64::from(self.ready(bank) <= now) << bank;
        }
    }
    /// When the first of some banks with choices is itself ready; zero if one was already when the choices were last
    /// brought up to date.
    #[inline]
    pub fn earliest(&self, banks: u64) -> Ps {
        if banks & self.ripe != 0 {
            return Ps::ZERO;
        }
        each(banks).fold(NEVER, |t, bank| t.min(self.ready(bank)))
    }
    /// Banks whose next request wants the open row.
    pub fn hits(&self) -> u64 {
        self.hits
    }
    /// Banks whose next request wants another row.
    pub fn misses(&self) -> u64 {
        self.misses
    }
    /// Banks whose row was opened for their next request.
    pub fn opened(&self) -> u64 {
        each(self.hits).fold(0, |opened, bank| {
            let request = &self.nodes[usize::from(self.banks[bank].choice.0)].request;
            opened | u64::from(request.found != RowState::Hit) << bank
        })
    }
    /// When a bank with a choice is itself ready for the command that this needs; the buses may not be.
    #[inline]
    pub fn ready(&self, bank: usize) -> Ps {
        self.ready[bank & 63]
    }
    /// The rank of the choice of a bank.
    #[inline]
    pub fn rank(&self, bank: usize) -> u64 {
        self.ranks[bank & 63]
    }
    /// The choice of a bank in [`BankQueues::hits`] or [`BankQueues::misses`].
    #[inline]
    pub fn choice(&self, bank: usize) -> Handle {
        self.banks[bank].choice
    }
}

/// The requests of a bank, oldest first, with their places in the order of arrival.
pub struct BankRequests<'a> {
    nodes: &'a [Queued],
    next: Option<Node>,
}
impl<'a> Iterator for BankRequests<'a> {
    type Item = (Handle, u64, &'a Request);
    fn next(&mut self) -> Option<Self::Item> {
        let node = self.next?;
        let q = &self.nodes[usize::from(node)];
        self.next = q.next;
        Some((Handle(node), q.order, &q.request))
    }
}
