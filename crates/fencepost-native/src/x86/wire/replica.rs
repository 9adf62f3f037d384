//! The server's memory: a mapped file with, for each client, the number of the next epoch, its key, and the replica that it writes.
//!
//! An epoch is applied in two steps. Its lines are stored, flushed and fenced; then the number of the next epoch is, in one word. So a
//! number never says more than what is durable, and what comes again is recognised after a crash too. An epoch whose number was lost is
//! stored again, over whatever part of it had been stored.

use super::super::file::PmFile;
use super::super::mapping::Mapping;
use super::super::memory::Raw;
use super::board::{Board, next_of, next_word};
use super::frames::{Block, Hello, Key, Refusal, Welcome};
use super::token::random;
use crate::error::NativeError;
use crate::native_report::FlushWith;
use crate::wire::{Next, Noted, ServerPlan, WireRequest};
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, Bytes, Fence, LineAddr, Width, planted};
use fencepost_programs::clients;
use fencepost_programs::layout::Footprint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use subtle::ConstantTimeEq as _;

/// Byte of the file where the number of client 0 stands; each has a line: number, then the two words of its key.
const NUMBERS: u64 = 4096;

/// The word of the file that holds the number of a client's next epoch.
pub(super) fn number_of(client: u8) -> Addr {
    Addr::pm(NUMBERS + LINE_BYTES * u64::from(client))
}
/// A word of a client's key.
fn key_word(client: u8, word: u64) -> Addr {
    Addr(number_of(client).0 + 8 * (1 + word))
}
/// Bytes of the file for these clients.
pub(super) fn size_of_file(request: &WireRequest) -> Bytes {
    let last = clients::replica(&request.client, Bytes(0), request.channels - 1);
    Bytes(last.1.0 - Addr::pm(0).0)
}

/// What arrived, as against what was expected.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The next epoch of its client.
    New,
    /// Applied before.
    Again,
    /// Something before it was lost.
    Gap,
}

/// Transactions that only read are never sent, so a later one may follow at once.
pub(super) fn classify(next: Next, id: Next) -> Arrival {
    match id {
        _ if id == next || (id.0 > next.0 && id.1 == 0 && next.1 == 0) => Arrival::New,
        _ if id < next => Arrival::Again,
        _ => Arrival::Gap,
    }
}

/// What the server knows of a client.
#[derive(Clone, Debug)]
struct Known {
    next: Next,
    /// The key of its first connection ever.
    key: Option<Key>,
    /// Its one session; blocks of an older one are those of a connection that was given up.
    session: u64,
}

/// No transaction has a larger number: the one behind it could not be told from the first.
const LAST_TX: u32 = u32::MAX - 1;

/// The memory, while it is mapped.
pub(super) struct Replica {
    mapping: Mapping,
    raw: Raw,
    /// Where each client may write.
    parts: Vec<(Addr, Addr)>,
    clients: Vec<Mutex<Known>>,
    /// Sessions begin here in this process, so that none of another process is taken for one of them.
    sessions: AtomicU64,
    /// Whether the file system is told of every flush.
    write_out: bool,
    /// Notes.
    pub board: Board,
}

/// What a server does to make an epoch durable, and whether the file system has to be told.
pub(super) fn durable_by(map_sync: bool, file_system: &str, kept: bool) -> Result<(String, bool), NativeError> {
    let flush = FlushWith::found(&[])?.name();
    let write_out = kept && !map_sync && file_system != "tmpfs";
    let and = if write_out { ", msync" } else { "" };
    Ok((format!("{flush} of every line, sfence{and}"), write_out))
}

impl Replica {
    /// Maps the file and takes up what it holds.
    pub(super) fn open(request: &WireRequest, plan: &ServerPlan) -> Result<Replica, NativeError> {
        let pm = size_of_file(request);
        let file = PmFile::open(&plan.pm, pm.0)?;
        let dram = Bytes(4096);
        let mapping = Mapping::new(Footprint { dram, pm }, Some(&file))?;
        let file_system = file.describe(mapping.map_sync()).file_system;
        let (_, write_out) = durable_by(mapping.map_sync(), &file_system, plan.kept)?;
        let flush = FlushWith::found(&[])?;
        #[allow(unsafe_code, reason = "the type cannot know that memory is mapped")]
        // SAFETY: `mapping` lives as long as the result, and every address is checked to lie inside a client's part of it.
        let raw = unsafe { Raw::new(flush) };
        let number = |c: u8| next_of(raw.load(number_of(c), Width::B8));
        let key = |c: u8| [0, 1].map(|w| raw.load(key_word(c, w), Width::B8));
        let known = |c: u8| Known {
            next: number(c),
            key: Some(key(c)).filter(|k| *k != [0, 0]),
            session: 0,
        };
        let [first] = random().map_err(|e| NativeError::Refused(format!("no random numbers: {e}")))?;
        let replica = Replica {
            parts: (0..request.channels)
                .map(|c| clients::replica(&request.client, Bytes(0), c))
                .collect(),
            clients: (0..request.channels).map(|c| Mutex::new(known(c))).collect(),
            sessions: AtomicU64::new(first | 1),
            board: Board::open(&plan.board, plan.traced)?,
            mapping,
            raw,
            write_out,
        };
        // A number may have been stored and not flushed.
        for c in 0..request.channels {
            replica.flush(&[number_of(c).line()]);
        }
        replica
            .board
            .note([Noted::Started((0..request.channels).map(number).collect())]);
        Ok(replica)
    }
    /// Begins the session of a client with this key, and ends the one before. A client that has never been here leaves its key.
    pub(super) fn admit(&self, of: Hello) -> Result<Welcome, Refusal> {
        let known = self.clients.get(usize::from(of.client)).ok_or(Refusal::Client)?;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.key {
            _ if of.key == [0, 0] => return Err(Refusal::Key),
            Some(key) if !same(key, of.key) => return Err(Refusal::Key),
            Some(_) => {}
            None => {
                for (word, w) in (0..).zip(of.key) {
                    self.raw.store(key_word(of.client, word), w, Width::B8);
                }
                self.flush(&[number_of(of.client).line()]);
                known.key = Some(of.key);
            }
        }
        known.session = self.sessions.fetch_add(1, Ordering::Relaxed);
        Ok(Welcome {
            session: known.session,
            next: known.next,
        })
    }
    /// Flushes lines that follow one another, and fences.
    fn flush(&self, lines: &[LineAddr]) {
        for line in lines {
            self.raw.flush(line.base());
        }
        self.raw.fence(Fence::Sfence);
        let (Some(first), true) = (lines.first(), self.write_out) else {
            return;
        };
        let bytes = lines.len() as u64 * LINE_BYTES;
        self.mapping
            .write_out(first.base(), bytes)
            .expect("the file system takes what is flushed");
    }
    fn line(&self, line: LineAddr) -> Noted {
        let word = |i: usize| self.raw.load(Addr(line.base().0 + 8 * i as u64), Width::B8);
        Noted::Durable {
            line,
            words: std::array::from_fn(word),
        }
    }
}

/// Whether keys are the same, in a time that does not depend on where they differ.
fn same(a: Key, b: Key) -> bool {
    let bytes = |k: Key| k.map(u64::to_le_bytes).concat();
    bytes(a).ct_eq(&bytes(b)).into()
}

/// What one connection does to the memory.
pub(super) struct Session<'a> {
    replica: &'a Replica,
    client: u8,
    session: u64,
    /// Lines stored and not flushed.
    pending: Vec<LineAddr>,
}

impl<'a> Session<'a> {
    /// Of a client that was admitted.
    pub(super) fn new(replica: &'a Replica, client: u8, session: u64) -> Self {
        Session {
            replica,
            client,
            session,
            pending: Vec::new(),
        }
    }
    /// Makes a block durable if it is the next one of its client, and says what it was. `None` for one that the client may not send: of another
    /// client or session, outside its part of the memory, or with a number that none can follow.
    pub(super) fn takes(&mut self, block: &Block) -> Option<Arrival> {
        self.flush();
        if block.id.client != self.client || block.session != self.session || block.id.tx > LAST_TX {
            return None;
        }
        let known = self.replica.clients.get(usize::from(block.id.client))?;
        let (first, end) = self.replica.parts[usize::from(block.id.client)];
        let fits = |n: u64| block.at >= first && block.at <= end && n <= end.0 - block.at.0;
        if !block.at.0.is_multiple_of(8) || !fits(block.words.len() as u64 * 8) || block.id.epoch > 0xfffe {
            return None;
        }
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.session != self.session {
            return None;
        }
        let arrival = classify(known.next, (block.id.tx, block.id.epoch));
        let replayed = arrival == Arrival::Again
            && planted!("wire.applied-twice", "an epoch that was applied is not applied again");
        let swapped = planted!(
            "wire.reorders",
            "epochs of a channel are applied in the order in which they were sent"
        );
        if arrival == Arrival::New || replayed || swapped {
            self.apply(block);
            known.next = if block.last {
                (block.id.tx + 1, 0)
            } else {
                (block.id.tx, block.id.epoch + 1)
            };
            self.replica
                .raw
                .store(number_of(block.id.client), next_word(known.next), Width::B8);
            self.replica.flush(&[number_of(block.id.client).line()]);
            return Some(Arrival::New);
        }
        Some(arrival)
    }
    fn apply(&mut self, block: &Block) {
        let (id, at) = (block.id, block.at);
        let bytes = block.words.len() as u64 * 8;
        self.replica.board.note([Noted::Applied { id, at, bytes }]);
        let last = Addr(at.0 + bytes - 8).line();
        let dropped = last > at.line() && planted!("wire.last-line-dropped", "every line of an epoch is stored");
        for (i, w) in (0u64..).zip(&block.words) {
            let to = Addr(at.0 + 8 * i);
            if !(dropped && to.line() == last) {
                self.replica.raw.store(to, *w, Width::B8);
            }
        }
        self.pending
            .extend((at.line().0..(at.0 + bytes).div_ceil(LINE_BYTES)).map(LineAddr));
        let early = block.ack
            && planted!(
                "wire.ack-before-flush",
                "an epoch is acknowledged after its lines were flushed and fenced"
            );
        if !early {
            self.flush();
        }
    }
    /// Makes durable what was stored.
    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.replica.flush(&self.pending);
        let lines = self.pending.iter().map(|l| self.replica.line(*l));
        self.replica.board.note(lines);
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_not_filled_and_what_was_applied_is_known() {
        for (next, id, expected) in [
            ((0, 0), (0, 0), Arrival::New),
            ((0, 1), (0, 0), Arrival::Again),
            ((0, 1), (0, 2), Arrival::Gap),
            ((0, 2), (1, 0), Arrival::Gap),
            ((1, 0), (3, 0), Arrival::New),
            ((1, 0), (3, 1), Arrival::Gap),
            ((4, 0), (3, 2), Arrival::Again),
        ] {
            assert_eq!(classify(next, id), expected, "{id:?} where {next:?} is expected");
        }
    }
}
