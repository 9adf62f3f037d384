//! What a recording does at memory accesses, flushes and fences.

use crate::guest::{value, word};
use crate::guest_recorder::{LINE, Recorder};
use crate::met::may_be_met;
use crate::place::Place;
use crate::recent::{forget, is_new};
use crate::registers;
use fencepost_record::{Class, Event, Operand, pieces};
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    /// Whether this thread has written something back for which it has not waited.
    static AWAITED: Cell<bool> = const { Cell::new(false) };
}

impl Recorder {
    /// Whether an access reaches a mapping of a persistent file. What lies between two of them may be anything: stacks of threads, locks.
    fn is_persistent(&self, address: u64, bytes: u64) -> bool {
        let near = address + bytes > self.span[0].load(Relaxed) && address < self.span[1].load(Relaxed);
        near && self.lock().mappings.touches(address, bytes)
    }
    /// After a memory access.
    pub(crate) fn memory(&self, vcpu: u32, store: bool, bytes: u64, address: u64, place: &Place) {
        self.take();
        let (atomic, several) = (place.class == Class::Atomic, self.shared.several.load(Relaxed) != 0);
        let records = self.records();
        let new = self.options.volatile && records && is_new(address / LINE);
        if self.options.volatile && !records {
            self.warms(vcpu, address);
        }
        if several && !store {
            self.may_join(vcpu, address);
        }
        if self.is_persistent(address, bytes) {
            if store || several || new {
                self.access(vcpu, store, bytes, address, place);
            }
        } else if atomic && store && (several || AWAITED.get()) {
            // For what is on its way to memory an atomic is a fence, with one thread too.
            let (at, value) = (self.own(address), word(address));
            self.lock().met.at(address, vcpu);
            self.write(vcpu, place, &Event::Meet(at, value));
        } else if several && self.is_shared(address) {
            self.among(vcpu, store, address, place);
        } else {
            let met = several && may_be_met(address) && self.lock().met.is_news(address, vcpu, store);
            let sees = several && records && !store && self.sees(vcpu, address, bytes, place);
            if met || new && !sees {
                self.plain(vcpu, store, address, place);
            }
            if several && records && store {
                self.stored(address, bytes, place, met || new);
            }
        }
        if atomic && store && AWAITED.replace(false) {
            self.shared.persisted();
        }
        self.count_turn(atomic && store && several);
    }
    /// A plain access to volatile memory.
    pub(crate) fn plain(&self, vcpu: u32, store: bool, address: u64, place: &Place) {
        let at = self.own(address);
        let event = if store {
            Event::Keep(at, word(address))
        } else {
            Event::Look(at)
        };
        self.write(vcpu, place, &event);
    }
    fn access(&self, vcpu: u32, store: bool, bytes: u64, address: u64, place: &Place) {
        for (at, width) in pieces(address, bytes) {
            let Some((file, offset)) = self.lock().mappings.persistent(at) else {
                continue;
            };
            if store && place.class == Class::NonTemporal {
                AWAITED.set(true);
            }
            let event = match (store, place.class) {
                (true, Class::Atomic) => Event::Atomic(file, offset, word(at)),
                (true, class) => Event::Store {
                    file,
                    offset,
                    value: value(at, width),
                    bytes: width as u8,
                    non_temporal: class == Class::NonTemporal,
                },
                (false, _) => Event::Load(file, offset),
            };
            self.write(vcpu, place, &event);
        }
    }
    /// At a fence.
    pub(crate) fn fence(&self, vcpu: u32, name: &'static str, place: &Place) {
        self.take();
        let awaited = AWAITED.replace(false);
        if awaited {
            self.before_durable();
        }
        self.write(vcpu, place, &Event::Fence(name));
        if awaited {
            self.shared.persisted();
        }
    }
    /// At a flush.
    pub(crate) fn flush(&self, vcpu: u32, name: &'static str, operand: &Operand, place: &Place) {
        self.take();
        let address = registers::address(operand, place.next);
        let found = self.lock().mappings.persistent(address);
        if let Some((file, offset)) = found {
            forget(address / LINE);
            AWAITED.set(true);
            self.before_durable();
            self.write(vcpu, place, &Event::Flush(name, file, offset));
        }
    }
}
