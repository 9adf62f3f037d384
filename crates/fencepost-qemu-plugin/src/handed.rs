//! What one thread hands to another through the system: pipes, connections, counters, queues, semaphores, signals, and locks of files.

use crate::files::descriptor;
use crate::guest;
use crate::guest_recorder::Recorder;
use crate::peers::peer;
use fencepost_record::{Effect, effect};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::ManuallyDrop;
use std::net::TcpStream;
use std::os::fd::FromRawFd;
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

/// By what.
enum Means {
    /// The lock of a file.
    Lock(u64),
    /// A file that is read and written in turns.
    Stream(u64),
    /// Something else with this name.
    Named(u64),
}

/// What a call hands on to others, or takes over from them.
fn means(number: i64, arguments: [u64; 6], wanted: Way) -> Option<Means> {
    const FCNTL: i64 = 72;
    const FLOCK: i64 = 73;
    const SENDS: [i64; 3] = [44, 46, 307]; // sendto, sendmsg, sendmmsg
    const RECEIVES: [i64; 2] = [47, 299]; // recvmsg, recvmmsg
    const LOCK_UN: u64 = 8;
    // F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW
    const LOCKS: [u64; 4] = [6, 7, 37, 38];
    const F_UNLCK: u64 = 2;
    const SEMAPHORES: [i64; 2] = [65, 220]; // semop, semtimedop
    const QUEUE: [i64; 2] = [69, 70]; // msgsnd, msgrcv
    const NAMED_QUEUE: [i64; 2] = [242, 243]; // mq_timedsend, mq_timedreceive
    const SIGNALS: [i64; 2] = [62, 234]; // kill, tgkill
    // rt_sigtimedwait, rt_sigsuspend, pause
    const AWAITS: [i64; 3] = [128, 130, 34];
    let [first, second, third, ..] = arguments;
    let (way, means) = match effect(number) {
        _ if number == FLOCK => (ends(second & LOCK_UN != 0), Means::Lock(first)),
        _ if number == FCNTL && LOCKS.contains(&second) => {
            (ends(guest::value(third, 2) == F_UNLCK), Means::Lock(first))
        }
        _ if SEMAPHORES.contains(&number) => (
            semaphores(second, third).find(|w| *w == wanted)?,
            Means::Named(named(&("semaphore", first))),
        ),
        _ if QUEUE.contains(&number) => (ends(number == QUEUE[0]), Means::Named(named(&("queue", first)))),
        _ if NAMED_QUEUE.contains(&number) => (ends(number == NAMED_QUEUE[0]), Means::Lock(first)),
        _ if SIGNALS.contains(&number) => (Way::On, Means::Named(signals(first))),
        _ if AWAITS.contains(&number) => (Way::Over, Means::Named(signals(std::process::id().into()))),
        _ if SENDS.contains(&number) => (Way::On, Means::Stream(first)),
        _ if RECEIVES.contains(&number) => (Way::Over, Means::Stream(first)),
        Effect::Writes { at: false, .. } => (Way::On, Means::Stream(first)),
        Effect::Fills | Effect::FillsPieces => (Way::Over, Means::Stream(first)),
        _ => return None,
    };
    (way == wanted).then_some(means)
}
fn ends(ends: bool) -> Way {
    if ends { Way::On } else { Way::Over }
}
/// The ways of an array of operations on semaphores: what adds hands on, and what waits takes over.
fn semaphores(array: u64, count: u64) -> impl Iterator<Item = Way> {
    /// Bytes of an operation, and where it says how much it adds.
    const OPERATION: [u64; 2] = [6, 2];
    let [bytes, added] = OPERATION;
    (0..count.min(64)).map(move |i| ends(guest::half(array + i * bytes + added) as i16 > 0))
}
/// The name of the signals of a process.
fn signals(process: u64) -> u64 {
    named(&("signals", process))
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
    /// The word for what a call hands this way.
    fn handed(&self, number: i64, arguments: [u64; 6], wanted: Way) -> Option<u64> {
        if self.shared.several.load(Relaxed) == 0 {
            return None;
        }
        let about = |fd: u64| std::fs::metadata(descriptor(fd)).ok();
        let name = match means(number, arguments, wanted)? {
            Means::Named(name) => name,
            Means::Lock(fd) => {
                let about = about(fd)?;
                named(&(about.dev(), about.ino()))
            }
            Means::Stream(fd) => {
                let about = about(fd)?;
                let kind = about.file_type();
                if kind.is_fifo() {
                    named(&(about.dev(), about.ino()))
                } else if kind.is_socket() {
                    connection(fd as i32, wanted).or_else(|| self.sent(about.ino(), wanted))?
                } else {
                    counter(fd as i32)?
                }
            }
        };
        Some(FILES + (name >> 35) * 8)
    }
    /// What is sent by a Unix socket: by this one, or the one that it is connected to.
    fn sent(&self, inode: u64, way: Way) -> Option<u64> {
        let by = match way {
            Way::On => inode,
            Way::Over => self.other_end(inode)?,
        };
        Some(named(&("socket", by)))
    }
    /// The socket at the other end of a Unix socket.
    fn other_end(&self, inode: u64) -> Option<u64> {
        if let Some(known) = self.lock().peers.get(&inode) {
            return Some(*known);
        }
        let found = peer(inode)?;
        self.lock().peers.insert(inode, found);
        Some(found)
    }
    /// A connection was accepted: later its other end may be closed, and what it has sent is still there.
    pub(crate) fn accepted(&self, fd: u64) {
        if let Ok(about) = std::fs::metadata(descriptor(fd)) {
            self.other_end(about.ino());
        }
    }
}

fn named(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
/// The name of an `eventfd`: all of them are one file.
fn counter(fd: i32) -> Option<u64> {
    let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
    let id = about.lines().find_map(|l| l.strip_prefix("eventfd-id:"))?;
    Some(named(&("eventfd", id.trim())))
}
/// The name of what goes one way between two addresses: the same at both ends.
fn connection(fd: i32, way: Way) -> Option<u64> {
    // SAFETY: the descriptor is the program's, is open while it makes its system call, and is not closed here. It is only asked for the
    // addresses, which any socket may be.
    let socket = unsafe { ManuallyDrop::new(TcpStream::from_raw_fd(fd)) };
    let (own, other) = (socket.local_addr().ok()?, socket.peer_addr().ok()?);
    Some(match way {
        Way::On => named(&(own, other)),
        Way::Over => named(&(other, own)),
    })
}
