//! What caches hold when recording begins: lines that the program accessed before.

use crate::guest_recorder::{LINE, Recorder};
use fencepost_record::{Place, volatile};

impl Recorder {
    /// After an access before recording begins.
    pub(crate) fn warms(&self, vcpu: u32, address: u64) {
        if let Some(touched) = &mut self.lock().touched {
            touched.note(address / LINE, vcpu);
        }
    }
    /// Recording begins: the lines accessed before, by vCPUs. Their threads get numbers when they have events.
    pub(crate) fn tell_warmth(&self) {
        let mut inner = self.lock();
        let Some(touched) = inner.touched.take() else {
            return;
        };
        let place = |line: u64| match inner.mappings.persistent(line * LINE) {
            Some((file, offset)) => Place::File(file, offset),
            None => Place::Volatile(volatile(inner.own(line * LINE))),
        };
        let words = touched.words(place);
        drop(inner);
        for line in words.lines() {
            self.tell(&format!("warm {line}\n"));
        }
    }
}
