//! Queued requests of one direction on one channel, by bank and age, with the candidates of each bank kept ready.

use super::timing::Channel;
use fencepost_kernel::{LineAddr, Ps};
use std::collections::VecDeque;

/// What had to be done to a bank for a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Touched {
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
    pub touched: Touched,
}

/// Index of a request while it is queued.
pub type Node = u16;

#[derive(Clone, Debug)]
struct Queued {
    request: Request,
    /// Age: smaller is older.
    order: u64,
    next: Option<Node>,
    previous: Option<Node>,
    live: bool,
}

/// The requests that a bank could be given next.
#[derive(Copy, Clone, Debug, Default)]
struct Bank {
    head: Option<Node>,
    tail: Option<Node>,
    /// Oldest eligible request for the open row, and oldest eligible request for another row.
    hit: Node,
    other: Node,
}

/// Requests of one direction, oldest first in every bank.
#[derive(Clone, Debug)]
pub struct BankLists {
    nodes: Vec<Queued>,
    free: Vec<Node>,
    banks: Vec<Bank>,
    /// A bit per bank: holds requests; candidates must be looked for again; has a hit; has another row's request.
    occupied: u64,
    stale: u64,
    hits: u64,
    others: u64,
    /// In order of arrival; requests that left are dropped when they come to the front.
    arrivals: VecDeque<(Node, u64)>,
    len: usize,
    order: u64,
}

impl BankLists {
    /// No requests, for this many banks.
    pub fn new(banks: usize) -> BankLists {
        BankLists {
            nodes: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            banks: vec![Bank::default(); banks],
            occupied: 0,
            stale: 0,
            hits: 0,
            others: 0,
            arrivals: VecDeque::with_capacity(64),
            len: 0,
            order: 0,
        }
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
        self.arrivals.front().map(|(n, _)| &self.get(*n).request)
    }
    /// A queued request.
    pub fn request(&mut self, node: Node) -> &mut Request {
        &mut self.nodes[usize::from(node)].request
    }
    fn get(&self, node: Node) -> &Queued {
        &self.nodes[usize::from(node)]
    }
    /// Age of a queued request: smaller is older.
    pub fn age(&self, node: Node) -> u64 {
        self.get(node).order
    }

    /// Adds the youngest request; `eligible`: whether it may issue as far as its queue is concerned. Answers whether the
    /// scheduler has to look: not if the request is no candidate of its bank, because an older one is.
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
        let is_hit = channel.banks[bank].row == Some(request.row);
        let settled = self.stale & bit == 0 && (self.hits & bit != 0 || (self.others & bit != 0 && !is_hit));
        if eligible && !settled {
            self.stale |= bit;
        }
        self.len == 1 || (eligible && !settled)
    }
    /// Takes a request out.
    pub fn remove(&mut self, node: Node) -> Request {
        let (request, next, previous) = {
            let q = &mut self.nodes[usize::from(node)];
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
        self.free.push(node);
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
    /// Any row, or the eligibility of any request, may have changed.
    pub fn all_changed(&mut self) {
        self.stale = u64::MAX;
    }

    /// Brings the candidates up to date. A hit does not count when an older request wants another row and the open
    /// one has had `hits_max` hits already (0: never so).
    pub fn find_candidates(&mut self, channel: &Channel, hits_max: u16, eligible: impl Fn(&Request) -> bool) {
        let mut stale = std::mem::take(&mut self.stale);
        self.hits &= !stale;
        self.others &= !stale;
        stale &= self.occupied;
        while stale != 0 {
            let bank = stale.trailing_zeros() as usize;
            stale &= stale - 1;
            let (hit, other) = self.search(bank, channel, hits_max, &eligible);
            if let Some(node) = hit {
                self.banks[bank].hit = node;
                self.hits |= 1 << bank;
            }
            if let Some(node) = other {
                self.banks[bank].other = node;
                self.others |= 1 << bank;
            }
        }
    }
    fn search(
        &self,
        bank: usize,
        channel: &Channel,
        hits_max: u16,
        eligible: impl Fn(&Request) -> bool,
    ) -> (Option<Node>, Option<Node>) {
        let open = &channel.banks[bank];
        let worn = hits_max > 0 && open.hits >= hits_max;
        let (mut other, mut next) = (None, self.banks[bank].head);
        while let Some(node) = next {
            let q = self.get(node);
            next = q.next;
            let is_hit = open.row == Some(q.request.row);
            if (!is_hit && other.is_some()) || !eligible(&q.request) {
                continue;
            }
            if is_hit {
                // The oldest hit decides: with one there is no need to look on, unless it must give way.
                return if worn && other.is_some() {
                    (None, other)
                } else {
                    (Some(node), other)
                };
            }
            other = Some(node);
            if open.row.is_none() {
                break;
            }
        }
        (None, other)
    }
    /// Banks with a candidate for their open row.
    pub fn hits(&self) -> u64 {
        self.hits
    }
    /// Banks with candidates only for rows that are not open.
    pub fn misses(&self) -> u64 {
        self.others & !self.hits
    }
    /// The candidate of a bank in [`BankLists::hits`].
    pub fn hit(&self, bank: usize) -> Node {
        self.banks[bank].hit
    }
    /// The candidate of a bank in [`BankLists::misses`].
    pub fn miss(&self, bank: usize) -> Node {
        self.banks[bank].other
    }
}
