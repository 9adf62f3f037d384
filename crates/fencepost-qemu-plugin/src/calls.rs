//! What the system calls of a recorded program do to its persistent files.
//!
//! What is followed becomes events; anything else that reaches a persistent file ends the recording.

use crate::contents::Pending;
use crate::executed;
use crate::files::{descriptor, position};
use crate::guest;
use crate::guest_recorder::Recorder;
use crate::threads;
use crate::work::KEPT;
use fencepost_record::{Effect, Event, Mapping, View, arity, call_name, effect};
use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    static PENDING: RefCell<Pending> = RefCell::default();
}

const O_APPEND: u64 = 0o2000;
/// `O_DSYNC`, which is a part of `O_SYNC`.
const O_DSYNC: u64 = 0o10000;
const O_TRUNC: u64 = 0o1000;
const O_ACCMODE: u64 = 3;
const ENOSYS: i64 = -38;
const SYNCFS: i64 = 306;
/// `rt_sigsuspend` and `pause`, which fail when a signal has come.
const SLEEPS: [i64; 2] = [130, 34];
/// `accept`, `accept4`.
const ACCEPTS: [i64; 2] = [43, 288];
const PAGE: u64 = 4096;

/// Whether `clone` and the like start a process, and not a thread.
fn forks(number: i64, [flags, ..]: [u64; 6]) -> bool {
    const CLONE: i64 = 56;
    const VM: u64 = 0x100;
    // The emulator makes a `vfork` a `fork`.
    const VFORK: u64 = 0x4000;
    number != CLONE || flags & VM == 0 || flags & VFORK != 0
}

/// What the emulator does not have of a call that has failed.
fn missing(number: i64, [first, second, ..]: [u64; 6], result: i64) -> Option<String> {
    const EINVAL: i64 = -22;
    const PRCTL: i64 = 157;
    const SET_SECCOMP: u64 = 22;
    match effect(number) {
        _ if result == ENOSYS => Some(call_name(number)),
        // The system would map the same pages twice.
        Effect::Remaps if second == 0 && (-4096..0).contains(&result) => Some("mremap of 0 bytes".into()),
        _ if (number, first, result) == (PRCTL, SET_SECCOMP, EINVAL) => Some("prctl(PR_SET_SECCOMP)".into()),
        _ => None,
    }
}

impl Recorder {
    /// Before a system call: others may go on while it lasts, unless it changes a persistent file.
    pub(crate) fn call(&'static self, vcpu: u32, number: i64, arguments: [u64; 6]) {
        self.take();
        self.hands_on(vcpu, number, arguments);
        let mut pending = Pending {
            arguments,
            ..Pending::default()
        };
        match effect(number) {
            Effect::Maps | Effect::Unmaps | Effect::Remaps => pending.kept = true,
            Effect::SyncsMemory | Effect::SyncsAll => {
                self.before_durable();
                pending.kept = true;
            }
            Effect::Starts => {
                // Whoever is started waits for its first turn until the call has returned here.
                pending.kept = true;
                self.shared.several.store(1, Relaxed);
                if forks(number, arguments) {
                    self.forks(vcpu);
                }
            }
            Effect::Writes { at, pieces } => self.before_write(number, &mut pending, at, pieces),
            Effect::Truncates | Effect::Allocates => {
                if let Some(k) = self.files.of(arguments[0]) {
                    self.touch(number, k, arguments[0]);
                    let (from, to) = self.changes(number, arguments, k);
                    self.keep(number, &mut pending, k, from, to);
                }
            }
            Effect::TruncatesPath => {
                for k in self.files.all_touched().collect::<Vec<_>>() {
                    self.keep(number, &mut pending, k, arguments[1], u64::MAX);
                }
            }
            Effect::SyncsFile => {
                pending.kept = self.files.of(arguments[0]).is_some();
                if pending.kept {
                    self.before_durable();
                }
            }
            Effect::Executes => match executed::prepare(&self.options, arguments) {
                executed::Plan::Emulated(mut command) => {
                    self.forget(vcpu);
                    executed::start(&mut command);
                    self.take();
                }
                executed::Plan::Native => {}
                executed::Plan::Impossible(why) => self.refuse_call(number, &why),
            },
            Effect::Exits => {
                self.ends(vcpu, threads::own());
                self.lock().forget(vcpu);
                self.at_the_end();
            }
            Effect::Ends => self.ends(vcpu, std::process::id()),
            _ => {}
        }
        pending.waiting = self.turn(|t| t.waiting());
        match pending.kept {
            false if self.may_wait(number, &arguments) => self.leave_asleep(),
            // Should it last all the same, those that wait take the turn away.
            false => {}
            // A fork waits until all threads of the process have stopped.
            true => KEPT.store(effect(number) != Effect::Starts || !forks(number, arguments), Relaxed),
        }
        PENDING.with(|p| *p.borrow_mut() = pending);
    }
    fn before_write(&self, number: i64, pending: &mut Pending, at: bool, pieces: bool) {
        let [fd, buffer, count, offset, _, flags] = pending.arguments;
        let Some(k) = self.files.of(fd) else {
            let path = std::fs::read_link(descriptor(fd)).unwrap_or_default();
            let path = path.to_string_lossy();
            if self.files.is_beside(&path) {
                self.tell_once(&format!("beside written {path}\n"));
            }
            return;
        };
        self.touch(number, k, fd);
        let (position, open) = position(fd).unwrap_or_default();
        // RWF_DSYNC and RWF_SYNC of `pwritev2`.
        const SYNC_NOW: u64 = 2 | 4;
        const PWRITEV2: i64 = 328;
        pending.durable = open & O_DSYNC != 0 || number == PWRITEV2 && flags & SYNC_NOW != 0;
        let from = match (open & O_APPEND != 0, at && offset != u64::MAX) {
            (true, _) => self.files.length_now(k),
            (false, true) => offset,
            (false, false) => position,
        };
        let length = match pieces {
            true => guest::pieces(buffer, count).iter().map(|p| p.1).sum(),
            false => count,
        };
        self.keep(number, pending, k, from, from.saturating_add(length));
    }
    /// The range of a file whose content `ftruncate` or `fallocate` may change.
    fn changes(&self, number: i64, [_, length, from, count, ..]: [u64; 6], k: usize) -> (u64, u64) {
        match effect(number) {
            Effect::Truncates => (length, u64::MAX),
            _ => {
                // FALLOC_FL_PUNCH_HOLE and FALLOC_FL_ZERO_RANGE change their range; those that move content, all of it.
                let (mode, end) = (length, from.saturating_add(count));
                match mode & !1 {
                    0 | 0x2 | 0x10 => (from, end),
                    _ => (0, self.files.length(k)),
                }
            }
        }
    }
    fn keep(&self, number: i64, pending: &mut Pending, k: usize, from: u64, to: u64) {
        pending.kept = true;
        match self.files.content(k, from, to) {
            Ok(content) => pending.before.push((k, from, to, self.files.length_now(k), content)),
            Err(why) => self.refuse_call(number, &why),
        }
    }
    /// From here on everything that happens to a file counts.
    fn touch(&self, number: i64, k: usize, fd: u64) {
        self.touches_now();
        match self.files.touch(k, fd) {
            Ok(lines) => self.tell(&lines),
            Err(why) => self.refuse_call(number, &why),
        }
    }
    pub(crate) fn refuse_call(&self, number: i64, why: &str) {
        let place = self.call_place();
        self.refuse(&call_name(number), why, &place);
    }
    /// The place of the system call that a thread is in.
    pub(crate) fn call_place(&self) -> String {
        self.lock().place_of_call()
    }

    /// After a system call.
    pub(crate) fn call_returned(&self, vcpu: u32, number: i64, result: i64) {
        let pending = PENDING.with(|p| std::mem::take(&mut *p.borrow_mut()));
        let effect = effect(number);
        if effect == Effect::Starts && result == 0 && forks(number, pending.arguments) {
            self.forked();
            return;
        }
        if pending.kept {
            KEPT.store(false, Relaxed);
        }
        self.take();
        if effect == Effect::Starts {
            self.has_forked();
        }
        let failed = (-4096..0).contains(&result);
        if let Some(call) = missing(number, pending.arguments, result) {
            self.tell_once(&format!("missing {call}\n"));
        }
        if !failed {
            self.settle(number, &pending.arguments, pending.waiting, result as u64);
        }
        if !failed || SLEEPS.contains(&number) {
            self.takes_over(vcpu, number, pending.arguments);
        }
        if !failed {
            self.succeeded(vcpu, number, effect, &pending, result as u64);
        }
        // What a thread asks of the system is where others may come in, too.
        if !matches!(effect, Effect::Nothing | Effect::Stores) {
            self.count_turn(self.shared.several.load(Relaxed) != 0);
        }
    }
    fn succeeded(&self, vcpu: u32, number: i64, effect: Effect, pending: &Pending, result: u64) {
        let arguments = pending.arguments;
        let [first, second, third, fourth, fifth, _] = arguments;
        match effect {
            Effect::Nothing | Effect::Executes | Effect::Exits | Effect::Ends => {}
            Effect::Starts => {
                if !forks(number, arguments) {
                    self.started(vcpu, result as u32, arguments);
                }
                self.may_begin_later(result as u32);
            }
            Effect::Maps => self.mapped(vcpu, number, result, arguments),
            Effect::Unmaps => self.remap(|m| m.remove(first, second.next_multiple_of(PAGE)), None),
            Effect::Remaps => self.remapped(vcpu, arguments, result),
            Effect::Attaches => self.remap(|m| m.remove(result, PAGE), None),
            Effect::SyncsMemory => self.synced_memory(vcpu, arguments),
            Effect::SyncsFile => {
                if let Some(k) = self.files.of(first).filter(|k| self.files.touched(*k)) {
                    self.synced(vcpu, k);
                }
            }
            Effect::SyncsAll => {
                let synced = self.files.synced_with((number == SYNCFS).then_some(first));
                synced.into_iter().for_each(|k| self.synced(vcpu, k));
            }
            Effect::Writes { .. } => self.written(vcpu, number, pending, Some(result)),
            Effect::Truncates | Effect::TruncatesPath | Effect::Allocates => {
                self.written(vcpu, number, pending, None);
            }
            Effect::Fills => self.filled(vcpu, &[(second, result)]),
            Effect::FillsPieces => self.filled(vcpu, &guest::first(&guest::pieces(second, third), result)),
            Effect::Stores | Effect::Awaits => {
                if ACCEPTS.contains(&number) {
                    self.accepted(result);
                }
                if effect == Effect::Awaits && result != 0 {
                    self.look(vcpu, threads::end_of(result as u32));
                }
                let inner = self.lock();
                let mut given = arguments.iter().take(arity(number));
                let there = given.any(|a| inner.mappings.find(*a).is_some());
                drop(inner);
                let there = there || guest::message_pieces(number, second).iter().any(|p| self.is_mapped(*p));
                if there {
                    self.refuse_call(
                        number,
                        "it stores to mapped persistent memory where that is not followed",
                    );
                }
            }
            Effect::Moves { fd } => {
                if self.files.of(arguments[fd]).is_some() {
                    self.refuse_call(number, "it writes to a persistent file in a way that is not followed");
                }
            }
            Effect::Lends => {
                if guest::pieces(second, third).iter().any(|p| self.is_mapped(*p)) {
                    self.refuse_call(number, "it hands on memory of a persistent file");
                }
            }
            Effect::Opens => self.opened(number, arguments, result),
            Effect::Names => {
                if let Some(k) = self.files.displaced() {
                    let name = self.options.files[k].display();
                    let why = format!("{name} is renamed, replaced or removed after it was written");
                    self.refuse_call(number, &why);
                }
            }
            Effect::Controls => self.controlled(number, arguments),
            Effect::Advises => {
                const MADV_REMOVE: u64 = 9;
                if third == MADV_REMOVE && self.is_mapped((first, second)) {
                    self.refuse_call(number, "it punches a hole into a persistent file");
                }
            }
            Effect::Foreign | Effect::Unknown => {
                let _ = (fourth, fifth);
                self.refuse_call(number, "what it does to files and memory is not followed");
            }
        }
    }
    fn is_mapped(&self, (start, length): (u64, u64)) -> bool {
        !self.lock().mappings.within(start, length).is_empty()
    }
    fn mapped(&self, vcpu: u32, number: i64, start: u64, [_, length, access, flags, fd, offset]: [u64; 6]) {
        const ANONYMOUS: u64 = 0x20;
        const WRITE: u64 = 2;
        const SHARED_KINDS: u64 = 3; // MAP_SHARED is 1, MAP_PRIVATE 2, MAP_SHARED_VALIDATE 3
        let length = length.next_multiple_of(PAGE);
        self.lock().code.forget();
        let shared = flags & ANONYMOUS == 0 && flags & SHARED_KINDS != 2;
        let Some(file) = shared.then(|| self.files.of(fd)).flatten() else {
            if shared && access & WRITE != 0 {
                let path = std::fs::read_link(descriptor(fd)).unwrap_or_default();
                self.tell_once(&format!("beside mapped {}\n", path.display()));
            }
            self.remap(|m| m.remove(start, length), None);
            if flags & SHARED_KINDS != 2 && access & WRITE != 0 {
                self.shares(start, length, shared.then_some((fd, offset)));
            }
            return;
        };
        self.touch(number, file, fd);
        if access & WRITE != 0 && self.files.is_used(file) {
            self.note(vcpu, &Event::LengthSync(file), &self.call_place());
        }
        if std::fs::metadata(descriptor(fd)).is_ok_and(|m| !m.is_file()) {
            self.tell(&self.files.reaches(file, offset + length));
        }
        let mapping = Mapping {
            start,
            length,
            file,
            offset,
            view: View::Shared,
        };
        self.remap(|m| m.remove(start, length), Some(mapping));
    }
    fn remapped(&self, vcpu: u32, [from, old, new, flags, ..]: [u64; 6], to: u64) {
        const DONTUNMAP: u64 = 4;
        let (old, new) = (old.next_multiple_of(PAGE), new.next_multiple_of(PAGE));
        self.lock().code.forget();
        // With an old length of 0 the mapping is there twice.
        self.remap(
            |m| m.relocate((from, old), (to, new), old == 0 || flags & DONTUNMAP != 0),
            None,
        );
        self.moves_shared(to, new);
        let found = self.lock().mappings.find(to).map(|m| m.file);
        if let Some(file) = found.filter(|k| self.files.is_used(*k)) {
            self.note(vcpu, &Event::LengthSync(file), &self.call_place());
        }
    }
    fn opened(&self, number: i64, arguments: [u64; 6], fd: u64) {
        const CREAT: i64 = 85;
        const OPEN: i64 = 2;
        let flags = match number {
            CREAT => O_TRUNC | 1,
            OPEN => arguments[1],
            _ => arguments[2],
        };
        let path = std::fs::read_link(descriptor(fd)).unwrap_or_default();
        let path = path.to_string_lossy();
        if flags & O_ACCMODE != 0 && path.starts_with("/proc/") && path.ends_with("/mem") {
            self.refuse_call(number, "memory that is written as a file is not followed");
        }
        if flags & O_TRUNC != 0 && self.files.of(fd).is_some_and(|k| self.files.touched(k)) {
            self.refuse_call(number, "it empties a persistent file after that was written");
        }
    }
    fn controlled(&self, number: i64, [fd, request, argument, ..]: [u64; 6]) {
        // FIGETBSZ, FS_IOC_GETFLAGS, FS_IOC_FIEMAP, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, FS_IOC_FSGETXATTR ask or set flags.
        let asks = [2, 0x8008_6601, 0xc020_660b, 0x541b, 0x5421, 0x5451, 0x5450, 0x801c_581f];
        if self.files.of(fd).is_some() && !asks.contains(&request) {
            let why = format!("request {request:#x} on a persistent file is not followed");
            self.refuse_call(number, &why);
        } else if self.is_mapped((argument, 1)) {
            self.refuse_call(number, "its argument lies in mapped persistent memory");
        }
    }
}
