//! Threads that meet by plain stores and loads of words that no atomic accesses. Only meetings that order something are recorded:
//! where the thread that loads does not come after the store already.

use crate::guest::word;
use crate::guest_recorder::Recorder;
use crate::place::Place;
use fencepost_record::{Event, LastStore, LastStores};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    /// This thread's number in the log, once it has an event.
    static NUMBER: Cell<Option<u32>> = const { Cell::new(None) };
    /// What it has seen before that: of each other thread the newest store, and its address.
    static EARLY: RefCell<Vec<(u64, LastStore)>> = const { RefCell::new(Vec::new()) };
}

impl Recorder {
    /// This thread has a number from here on, or none.
    pub(crate) fn is_numbered(number: Option<u32>) {
        NUMBER.set(number);
        if number.is_none() {
            EARLY.take();
        }
    }
    fn stores(&self) -> &LastStores {
        self.stores.get_or_init(LastStores::default)
    }
    /// After a plain store to volatile memory, of which the log may have an event.
    pub(crate) fn stored(&self, address: u64, bytes: u64, place: &Place, told: bool) {
        let by = NUMBER.get().map(|thread| LastStore {
            thread,
            // The number of its event, or of whichever comes next.
            number: self.shared.events.load(Relaxed) - u64::from(told),
            place: std::ptr::from_ref(place) as u64,
            told,
        });
        self.stores().stored(address, bytes, by);
    }
    /// After a plain load: whether it is recorded, because of what it sees.
    pub(crate) fn sees(&self, vcpu: u32, address: u64, bytes: u64, place: &Place) -> bool {
        let number = NUMBER.get();
        let Some(store) = self.stores().seen(address, bytes, number) else {
            return false;
        };
        let Some(number) = number else {
            // A thread that never does anything need not be in the log.
            EARLY.with_borrow_mut(|early| {
                early.retain(|(_, e)| e.thread != store.thread);
                early.push((address, store));
            });
            return false;
        };
        self.comes_after(vcpu, number, address, &store, place.at)
    }
    /// What a thread has seen before its first event.
    pub(crate) fn saw_early(&self, vcpu: u32, number: u32) {
        for (address, store) in EARLY.take() {
            // SAFETY: places are never freed.
            let place = unsafe { &*(store.place as *const Place) };
            self.comes_after(vcpu, number, address, &store, place.at);
        }
    }
    /// Records that a thread comes after a store, if it does not already.
    fn comes_after(&self, vcpu: u32, number: u32, address: u64, store: &LastStore, at: u64) -> bool {
        let mut inner = self.lock();
        if inner.clocks.comes_after(number, store.thread, store.number) {
            return false;
        }
        inner.clocks.sees(number, store.thread, store.number);
        // SAFETY: places are never freed.
        let stored_at = unsafe { &*(store.place as *const Place) };
        let name = stored_at.name.get_or_init(|| inner.code.place(stored_at.at)).clone();
        let at = inner.code.place(at);
        drop(inner);
        if !store.told {
            let modules = self.lock().code.untold_modules();
            let (number, thread) = (store.number, store.thread);
            let event = Event::Keep(self.own(address), word(address));
            self.tell(&format!("{modules}late {number} {thread} 0 {event} @{name}\n"));
            self.stores().tell(address);
        }
        self.note(vcpu, &Event::Look(self.own(address)), &at);
        true
    }
}
