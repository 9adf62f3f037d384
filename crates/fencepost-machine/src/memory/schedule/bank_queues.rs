//! Queued requests of one direction on one channel, by bank and age.

use super::candidates::{Candidates, Needs};
use super::choice::{Choice, Handle};
use crate::memory::bits::each;
use crate::memory::timing::{Channel, Direction};
use fencepost_kernel::{LineAddr, Ps};

/// What had to be done to a bank for a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum RowState {
    /// Nothing: its row was open.
    Hit,
    /// The row was opened for it.
    Opened,
    /// Another row was closed for it.
    Conflict,
}

/// A queued request, located.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Request {
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
    /// Age: smaller is older.
    order: u64,
    /// Neighbours among the requests of the bank, and among all.
    of_bank: Links,
    of_all: Links,
}

/// Neighbours of a request in a list.
#[derive(Copy, Clone, Debug)]
struct Links {
    older: Node,
    younger: Node,
}

/// Requests in the order of their age.
#[derive(Copy, Clone, Debug)]
struct List {
    oldest: Node,
    youngest: Node,
}
impl List {
    const EMPTY: List = List {
        oldest: NONE,
        youngest: NONE,
    };
    /// Adds the youngest. `links`: where a request keeps its neighbours in this list.
    #[inline]
    fn push(&mut self, nodes: &mut [Queued], node: Node, links: impl Fn(&mut Queued) -> &mut Links) {
        let older = std::mem::replace(&mut self.youngest, node);
        *links(&mut nodes[usize::from(node)]) = Links { older, younger: NONE };
        match older {
            NONE => self.oldest = node,
            older => links(&mut nodes[usize::from(older)]).younger = node,
        }
    }
    /// Takes one out.
    #[inline]
    fn remove(&mut self, nodes: &mut [Queued], node: Node, links: impl Fn(&mut Queued) -> &mut Links) {
        let Links { older, younger } = *links(&mut nodes[usize::from(node)]);
        match older {
            NONE => self.oldest = younger,
            older => links(&mut nodes[usize::from(older)]).younger = younger,
        }
        match younger {
            NONE => self.youngest = older,
            younger => links(&mut nodes[usize::from(younger)]).older = older,
        }
    }
}

/// Requests of one direction, oldest first in every bank.
#[derive(Clone, Debug)]
pub(crate) struct BankQueues {
    direction: Direction,
    /// Requests need no open row.
    any_row: bool,
    /// Rows are opened for requests that may not issue yet.
    ahead: bool,
    nodes: Vec<Queued>,
    /// The first unused node; the others follow as `of_all.younger`.
    free: Node,
    banks: Vec<List>,
    all: List,
    /// Banks that hold requests, and those whose next request must be chosen again, a bit each.
    occupied: u64,
    stale: u64,
    next: Candidates,
    len: usize,
    order: u64,
}

impl BankQueues {
    /// No requests, for this many banks. `any_row`: they can be served whatever row is open.
    pub(crate) fn new(direction: Direction, banks: usize, any_row: bool) -> BankQueues {
        BankQueues {
            direction,
            any_row,
            ahead: false,
            nodes: Vec::with_capacity(64),
            free: NONE,
            banks: vec![List::EMPTY; banks],
            all: List::EMPTY,
            occupied: 0,
            stale: 0,
            next: Candidates::new(),
            len: 0,
            order: 0,
        }
    }
    /// Whether requests can be served whatever row is open.
    pub(crate) fn any_row(&self) -> bool {
        self.any_row
    }
    /// The same; where rows matter, they are opened for requests that may not issue yet.
    pub(crate) fn opening_ahead(mut self, ahead: bool) -> BankQueues {
        self.ahead = ahead && !self.any_row;
        self
    }
    /// Whether rows are opened for requests that may not issue yet.
    #[inline]
    pub(crate) fn looks_ahead(&self) -> bool {
        self.ahead
    }
    /// Whether a bank holds requests.
    #[inline]
    pub(crate) fn occupied(&self, bank: usize) -> bool {
        self.occupied & (1 << bank) != 0
    }
    /// The next request of every bank, as of the last [`BankQueues::choose`].
    #[inline]
    pub(crate) fn next(&self) -> &Candidates {
        &self.next
    }
    /// Whether a bank has its next request, or has to look for it.
    #[inline]
    pub(crate) fn has_choice(&self, bank: usize) -> bool {
        (self.stale | self.next.hits() | self.next.misses()) & (1 << bank) != 0
    }
    /// Number of requests.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The request that has waited longest.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<&Request> {
        // No request has this number.
        self.nodes.get(usize::from(self.all.oldest)).map(|q| &q.request)
    }
    /// A queued request.
    #[inline]
    pub(crate) fn request(&mut self, handle: Handle) -> &mut Request {
        &mut self.nodes[usize::from(handle.0)].request
    }

    /// Adds the youngest request; `eligible`: whether it may issue as far as its queue is concerned. Returns whether the
    /// channel has to look: not if the bank's choice is an older request that stays the choice first come, first served.
    /// Where rows are opened ahead, the choice may be one that has to give way, and any request a new choice.
    pub(crate) fn push(&mut self, request: Request, channel: &Channel, eligible: bool) -> bool {
        let bank = usize::from(request.bank);
        self.order += 1;
        let alone = Links {
            older: NONE,
            younger: NONE,
        };
        let queued = Queued {
            request,
            order: self.order,
            of_bank: alone,
            of_all: alone,
        };
        let node = match self.free {
            NONE => {
                self.nodes.push(queued);
                (self.nodes.len() - 1) as Node
            }
            free => {
                let place = &mut self.nodes[usize::from(free)];
                self.free = place.of_all.younger;
                *place = queued;
                free
            }
        };
        self.banks[bank].push(&mut self.nodes, node, |q| &mut q.of_bank);
        self.all.push(&mut self.nodes, node, |q| &mut q.of_all);
        self.len += 1;
        let bit = 1u64 << bank;
        self.occupied |= bit;
        let is_hit = self.any_row || channel.banks[bank].row == Some(request.row);
        let settled = !self.ahead
            && self.stale & bit == 0
            && (self.next.hits() & bit != 0 || (self.next.misses() & bit != 0 && !is_hit));
        let looks = (eligible || self.ahead) && !settled;
        if looks {
            self.stale |= bit;
        }
        self.len == 1 || looks
    }
    /// Takes a request out.
    pub(crate) fn remove(&mut self, handle: Handle) -> Request {
        let request = self.nodes[usize::from(handle.0)].request;
        let bank = &mut self.banks[usize::from(request.bank)];
        bank.remove(&mut self.nodes, handle.0, |q| &mut q.of_bank);
        self.all.remove(&mut self.nodes, handle.0, |q| &mut q.of_all);
        self.nodes[usize::from(handle.0)].of_all.younger = std::mem::replace(&mut self.free, handle.0);
        let bit = 1u64 << request.bank;
        if bank.oldest == NONE {
            self.occupied &= !bit;
        }
        self.stale |= bit;
        self.len -= 1;
        request
    }

    /// The rows of these banks (a bit each), how often they were hit, or the eligibility of requests for them, may have
    /// changed.
    #[inline]
    pub(crate) fn changed(&mut self, banks: u64) {
        self.stale |= banks;
    }
    /// The same of every bank.
    pub(crate) fn all_changed(&mut self) {
        self.changed(u64::MAX);
    }

    /// The row of a bank was closed, or opened for its next request: that stays the next one, unless it was opened ahead.
    #[inline]
    pub(crate) fn row_changed(&mut self, bank: usize, channel: &Channel) {
        if self.ahead {
            self.changed(1 << bank);
        } else if self.stale & (1 << bank) == 0 {
            let row = self.nodes[usize::from(self.next.handle(bank).0)].request.row;
            self.next.needs(bank, self.needs(channel, bank, row));
        }
    }
    /// What a request for a row needs of its bank next.
    #[inline]
    fn needs(&self, channel: &Channel, bank: usize, row: u64) -> Needs {
        let hit = self.any_row || channel.banks[bank].row == Some(row);
        let (ready, waits) = match hit {
            true => channel.column_waits(bank, self.direction),
            false => channel.row_waits(bank),
        };
        Needs { hit, ready, waits }
    }

    /// Brings the next requests up to date: `choose` is asked about every bank for which something changed, with its requests
    /// from the oldest on.
    #[inline]
    pub(crate) fn choose(
        &mut self,
        channel: &Channel,
        mut choose: impl FnMut(usize, BankRequests<'_>) -> Option<Choice>,
    ) {
        if self.stale == 0 {
            return;
        }
        let stale = std::mem::take(&mut self.stale);
        self.next.clear(stale);
        for bank in each(stale & self.occupied) {
            let requests = BankRequests {
                nodes: &self.nodes,
                next: self.banks[bank].oldest,
            };
            let Some(choice) = choose(bank, requests) else {
                continue;
            };
            let row = self.nodes[usize::from(choice.handle.0)].request.row;
            self.next.set(bank, choice, self.needs(channel, bank, row));
        }
    }
    /// Banks whose row was opened for their next request.
    pub(crate) fn opened(&self) -> u64 {
        each(self.next.hits()).fold(0, |opened, bank| {
            let request = &self.nodes[usize::from(self.next.handle(bank).0)].request;
            opened | u64::from(request.found != RowState::Hit) << bank
        })
    }
}

/// The requests of a bank, oldest first, with their places in the order of arrival.
#[derive(Copy, Clone)]
pub(crate) struct BankRequests<'a> {
    nodes: &'a [Queued],
    next: Node,
}
impl<'a> Iterator for BankRequests<'a> {
    type Item = (Handle, u64, &'a Request);
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // Behind the last there is none.
        let q = self.nodes.get(usize::from(self.next))?;
        let handle = Handle(std::mem::replace(&mut self.next, q.of_bank.younger));
        Some((handle, q.order, &q.request))
    }
}
