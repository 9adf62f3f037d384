//! The server's memory: a mapped file with, for each client, the number of the next epoch and the replica that it writes.
//!
//! An epoch is applied in two steps. Its lines are stored, flushed and fenced; then the number of the next epoch is, in one word. So a
//! number never says more than what is durable, and what comes again is recognised after a crash too. An epoch whose number was lost is
//! stored again, over whatever part of it had been stored.

use super::super::file::PmFile;
use super::super::mapping::Mapping;
use super::super::memory::Raw;
use super::board::{Board, next_of, next_word};
use super::frames::Block;
use crate::error::NativeError;
use crate::native_report::FlushWith;
use crate::wire::{Next, Noted, ServerPlan, WireRequest};
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, Bytes, Fence, LineAddr, Width, planted};
use fencepost_programs::clients;
use fencepost_programs::layout::Footprint;
use std::sync::{Mutex, PoisonError};

/// Byte of the file where the number of client 0 stands; each has a line.
const NUMBERS: u64 = 4096;

/// The word of the file that holds the number of a client's next epoch.
pub fn number_of(client: u8) -> Addr {
    Addr::pm(NUMBERS + LINE_BYTES * u64::from(client))
}
/// Bytes of the file for these clients.
pub fn size_of_file(request: &WireRequest) -> Bytes {
    let last = clients::replica(&request.client, Bytes(0), request.channels - 1);
    Bytes(last.1.0 - Addr::pm(0).0)
}

/// What arrived, as against what was expected.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The next epoch of its client.
    New,
    /// Applied before.
    Again,
    /// Something before it was lost.
    Gap,
}

/// Transactions that only read are never sent, so a later one may follow at once.
pub fn classify(next: Next, id: Next) -> Arrival {
    match id {
        _ if id == next || (id.0 > next.0 && id.1 == 0 && next.1 == 0) => Arrival::New,
        _ if id < next => Arrival::Again,
        _ => Arrival::Gap,
    }
}

/// The memory, while it is mapped.
pub struct Replica {
    mapping: Mapping,
    raw: Raw,
    /// Where each client may write.
    parts: Vec<(Addr, Addr)>,
    next: Vec<Mutex<Next>>,
    /// Whether the file system is told of every flush.
    write_out: bool,
    /// Notes.
    pub board: Board,
}

/// What a server does to make an epoch durable, and whether the file system has to be told.
pub fn durable_by(map_sync: bool, file_system: &str, kept: bool) -> Result<(String, bool), NativeError> {
    let flush = FlushWith::found(&[])?.name();
    let write_out = kept && !map_sync && file_system != "tmpfs";
    let and = if write_out { ", msync" } else { "" };
    Ok((format!("{flush} of every line, sfence{and}"), write_out))
}

impl Replica {
    /// Maps the file and takes up what it holds.
    pub fn open(request: &WireRequest, plan: &ServerPlan) -> Result<Replica, NativeError> {
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
        let replica = Replica {
            parts: (0..request.channels)
                .map(|c| clients::replica(&request.client, Bytes(0), c))
                .collect(),
            next: (0..request.channels).map(|c| Mutex::new(number(c))).collect(),
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

/// What one connection does to the memory.
pub struct Session<'a> {
    replica: &'a Replica,
    /// Lines stored and not flushed.
    pending: Vec<LineAddr>,
}

impl<'a> Session<'a> {
    /// Of a new connection.
    pub fn new(replica: &'a Replica) -> Self {
        Session {
            replica,
            pending: Vec::new(),
        }
    }
    /// Makes a block durable if it is the next one of its client, and says what it was. `None` for one that no client may send.
    pub fn takes(&mut self, block: &Block) -> Option<Arrival> {
        self.flush();
        let number = self.replica.next.get(usize::from(block.id.client))?;
        let (first, end) = self.replica.parts[usize::from(block.id.client)];
        let fits = |n: u64| block.at >= first && block.at <= end && n <= end.0 - block.at.0;
        if !block.at.0.is_multiple_of(8) || !fits(block.words.len() as u64 * 8) || block.id.epoch > 0xfffe {
            return None;
        }
        let mut next = number.lock().unwrap_or_else(PoisonError::into_inner);
        let arrival = classify(*next, (block.id.tx, block.id.epoch));
        let replayed = arrival == Arrival::Again
            && planted!("wire.applied-twice", "an epoch that was applied is not applied again");
        let swapped = planted!(
            "wire.reorders",
            "epochs of a channel are applied in the order in which they were sent"
        );
        if arrival == Arrival::New || replayed || swapped {
            self.apply(block);
            *next = if block.last {
                (block.id.tx + 1, 0)
            } else {
                (block.id.tx, block.id.epoch + 1)
            };
            self.replica
                .raw
                .store(number_of(block.id.client), next_word(*next), Width::B8);
            self.replica.flush(&[number_of(block.id.client).line()]);
            return Some(Arrival::New);
        }
        Some(arrival)
    }
    fn apply(&mut self, block: &Block) {
        let (id, at) = (block.id, block.at);
        let bytes = block.words.len() as u64 * 8;
        self.replica.board.note([Noted::Applied { id, at, bytes }]);
        for (i, w) in (0u64..).zip(&block.words) {
            self.replica.raw.store(Addr(at.0 + 8 * i), *w, Width::B8);
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
