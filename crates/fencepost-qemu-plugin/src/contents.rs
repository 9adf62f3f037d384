//! What system calls have written to persistent files, and made durable.

use crate::files::{Content, store};
use crate::guest::value;
use crate::guest_recorder::Recorder;
use fencepost_record::{Event, pieces};

const PAGE: u64 = 4096;

/// A system call under way.
#[derive(Default)]
pub(crate) struct Pending {
    pub arguments: [u64; 6],
    /// Whether the turn was kept: nobody else changes the files meanwhile.
    pub kept: bool,
    /// Threads that waited for the turn.
    pub waiting: u32,
    /// Ranges that may change, how long the file was, and what they held: file, from, to.
    pub before: Vec<(usize, u64, u64, u64, Content)>,
    /// Whether what is written is durable when the call returns.
    pub durable: bool,
}

/// What a store is of a file that ends at `end`: behind that it is no more than what is not there.
fn cut_off(event: Event, end: u64) -> Event {
    match event {
        Event::Store {
            file, offset, bytes, ..
        } if offset >= end => Event::Cut(file, offset, bytes),
        store => store,
    }
}

impl Recorder {
    pub(crate) fn synced_memory(&self, vcpu: u32, [start, length, flags, ..]: [u64; 6]) {
        const MS_SYNC: u64 = 4;
        if flags & MS_SYNC == 0 {
            return;
        }
        let from = start / PAGE * PAGE;
        let found = self
            .lock()
            .mappings
            .pieces(from, (start - from).saturating_add(length).next_multiple_of(PAGE));
        let place = self.call_place();
        for (file, offset, length) in found {
            self.note(vcpu, &Event::Sync(file, offset, length), &place);
            self.files.length_is_durable(file);
            self.shared.persisted();
        }
    }
    pub(crate) fn synced(&self, vcpu: u32, k: usize) {
        let length = self.files.length(k).next_multiple_of(PAGE);
        let place = self.call_place();
        self.note(vcpu, &Event::Sync(k, 0, length), &place);
        self.files.length_is_durable(k);
        self.shared.persisted();
    }
    /// The stores that a call has made to files, and the sync that it may contain.
    pub(crate) fn written(&self, vcpu: u32, number: i64, pending: &Pending, count: Option<u64>) {
        let place = self.call_place();
        for (k, from, to, was, before) in &pending.before {
            let now = match self.files.content(*k, *from, *to) {
                Ok(now) => now,
                Err(why) => return self.refuse_call(number, &why),
            };
            let (was, is) = (*was, self.files.length_now(*k));
            self.tell(&self.files.measure(*k));
            let stores = now.stores_since(before, *k);
            if self.files.resized(*k, was, is, !stores.is_empty()) {
                self.note(vcpu, &Event::Length(*k, is), &place);
            }
            for event in stores {
                self.note(vcpu, &cut_off(event, is), &place);
            }
            if let (true, Some(count)) = (pending.durable, count) {
                self.note(vcpu, &Event::Sync(*k, *from, count), &place);
                self.files.length_is_durable(*k);
                self.shared.persisted();
            }
        }
    }
    /// The system has stored to these pieces of memory.
    pub(crate) fn filled(&self, vcpu: u32, memory: &[(u64, u64)]) {
        for (start, length) in memory {
            let found = self.lock().mappings.within(*start, *length);
            for m in found {
                let (from, to) = (m.start.max(*start), (m.start + m.length).min(start + length));
                let place = self.call_place();
                for (at, bytes) in pieces(from, to - from) {
                    let event = store(m.file, m.offset + (at - m.start), value(at, bytes), bytes);
                    self.note(vcpu, &event, &place);
                }
            }
        }
    }
}
