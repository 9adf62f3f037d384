//! Volatile memory that processes share: shared anonymous memory, and files that are not persistent. A word of it has one address for
//! all of them, and what one stores there and another loads is recorded, whatever the instructions.

use crate::files::descriptor;
use crate::guest::word;
use crate::guest_recorder::Recorder;
use crate::place::Place;
use fencepost_record::{Mapping, View};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering::Relaxed;

/// Addresses that no guest has, for files.
const FILES: u64 = 0x30_0000_0000;
/// Files' addresses begin on pages.
const PAGE: u64 = 4096;
/// Most bytes of those addresses.
const MOST: u64 = 1 << 35;

impl Recorder {
    /// Memory was mapped that other processes may share; of a file, if it is one.
    pub(crate) fn shares(&self, start: u64, length: u64, file: Option<(u64, u64)>) {
        let at = match file {
            None => self.own(start),
            Some((fd, offset)) => {
                let Ok(about) = std::fs::metadata(descriptor(fd)) else {
                    return;
                };
                if !about.is_file() {
                    return;
                }
                let name = (about.dev() << 32 ^ about.ino()).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
                FILES + (name * PAGE + offset) % MOST
            }
        };
        let mut inner = self.lock();
        inner.among.add(Mapping {
            start,
            length,
            file: 0,
            offset: at,
            view: View::Shared,
        });
        drop(inner);
        self.shares_at(start, start + length);
    }
    /// Memory was moved to these addresses, which may be such memory.
    pub(crate) fn moves_shared(&self, to: u64, length: u64) {
        if self.lock().among.find(to).is_some() {
            self.shares_at(to, to + length);
        }
    }
    fn shares_at(&self, from: u64, to: u64) {
        self.among[0].fetch_min(from, Relaxed);
        self.among[1].fetch_max(to, Relaxed);
    }
    /// Whether an address is of such memory.
    pub(crate) fn is_shared(&self, address: u64) -> bool {
        // With one process there is nobody to share it with. A child joins where it does something, and others go on before that.
        let near = self.shared.forked.load(Relaxed) != 0
            && address >= self.among[0].load(Relaxed)
            && address < self.among[1].load(Relaxed);
        near && self.lock().among.find(address).is_some()
    }
    /// After a plain access to such memory: a load counts where it sees something new.
    pub(crate) fn among(&self, vcpu: u32, store: bool, address: u64, place: &Place) {
        let now = word(address);
        let known = self.lock().seen.insert((vcpu, address & !7), now);
        if store || known != Some(now) {
            self.plain(vcpu, store, address, place);
        }
    }
}
