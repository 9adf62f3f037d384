//! What one thread hands to another through the system: pipes, and locks of files.

use crate::files::descriptor;
use crate::guest;
use crate::guest_recorder::Recorder;
use fencepost_native::record::{Effect, effect};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::atomic::Ordering::Relaxed;

/// Addresses that no guest has.
const FILES: u64 = 0x22_0000_0000;

/// Which way something goes.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Way {
    /// To whoever comes after.
    On,
    /// From whoever came before.
    Over,
}

/// What a call does to others that use its first argument's file.
fn way(number: i64, [_, what, lock, ..]: [u64; 6]) -> Option<(Way, bool)> {
    const FCNTL: i64 = 72;
    const FLOCK: i64 = 73;
    const LOCK_UN: u64 = 8;
    // F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW
    const LOCKS: [u64; 4] = [6, 7, 37, 38];
    const F_UNLCK: u64 = 2;
    let locks = |ends: bool| Some((if ends { Way::On } else { Way::Over }, true));
    match effect(number) {
        _ if number == FLOCK => locks(what & LOCK_UN != 0),
        _ if number == FCNTL && LOCKS.contains(&what) => locks(guest::value(lock, 2) == F_UNLCK),
        Effect::Writes { at: false, .. } => Some((Way::On, false)),
        Effect::Fills | Effect::FillsPieces => Some((Way::Over, false)),
        _ => None,
    }
}

impl Recorder {
    /// Before a call: what the thread did comes before what others do that are handed something by it.
    pub(crate) fn hands_on(&self, vcpu: u32, number: i64, arguments: [u64; 6]) {
        // Who has done nothing has nothing to hand on.
        let known = || self.is_known(vcpu);
        if let Some(at) = self.handed(number, arguments, Way::On).filter(|_| known()) {
            self.meet(vcpu, at);
        }
    }
    /// After a call: what the thread does from here on comes after what those did that handed it something.
    pub(crate) fn takes_over(&self, vcpu: u32, number: i64, arguments: [u64; 6]) {
        if let Some(at) = self.handed(number, arguments, Way::Over) {
            self.look(vcpu, at);
        }
    }
    /// The word for the pipe or the locked file of a call that goes this way.
    fn handed(&self, number: i64, arguments: [u64; 6], wanted: Way) -> Option<u64> {
        if self.shared.several.load(Relaxed) == 0 {
            return None;
        }
        let (way, locks) = way(number, arguments)?;
        if way != wanted {
            return None;
        }
        let about = std::fs::metadata(descriptor(arguments[0])).ok()?;
        let counts = locks || about.file_type().is_fifo();
        let name = (about.dev() << 32 ^ about.ino()).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 35;
        counts.then_some(FILES + name * 8)
    }
}
