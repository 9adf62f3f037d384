//! The state of a recording, and what its memory callbacks do. What system calls do is in [`crate::calls`].

use crate::code::Code;
use crate::files::Files;
use crate::guest::{value, word};
use crate::met::{Met, may_be_met};
use crate::options::Options;
use crate::place::Place;
use crate::recent::is_new;
use crate::registers;
use fencepost_native::record::{Class, Event, FAILED, Journal, Mappings, Operand, Shared, pieces};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A recording in progress.
pub(crate) struct Recorder {
    /// What all processes share.
    pub shared: &'static Shared,
    /// What is asked for.
    pub options: Options,
    /// The persistent files.
    pub files: Files,
    /// Lowest and highest address of a mapping of one.
    span: [AtomicU64; 2],
    /// The same of words that the system clears when threads end.
    pub ends: [AtomicU64; 2],
    inner: Mutex<Inner>,
}
/// What changes, for the thread whose turn it is.
pub(crate) struct Inner {
    journal: Option<Journal>,
    /// Where the persistent files are mapped.
    pub mappings: Mappings,
    threads: HashMap<u32, u32>,
    /// Where code comes from.
    pub code: Code,
    /// What was said once and need not be said again.
    said: HashSet<String>,
    /// Operations that each thread has begun, where calls acknowledge them.
    operations: HashMap<u32, u32>,
    /// Words that the system clears when threads end, and the threads.
    pub ends: HashMap<u64, u32>,
    /// Words at which threads meet.
    met: Met,
    /// Number of this process among those recorded, from 1.
    process: u32,
}

thread_local! {
    /// Whether this thread has written something back for which it has not waited.
    static AWAITED: Cell<bool> = const { Cell::new(false) };
}

/// Threads that a log can tell apart.
const MOST_THREADS: u32 = 256;

/// Bytes of a cache line.
const LINE: u64 = 64;
impl Recorder {
    /// Joins a recording.
    pub(crate) fn join(folder: &Path) -> Result<Recorder, String> {
        let options = Options::read(folder)?;
        let shared = Shared::open(&folder.join("state")).map_err(|e| format!("{}: {e}", folder.display()))?;
        let process = shared.join();
        if process == 1 {
            // Without whoever reads the recording there is no use in going on.
            let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        }
        if options.region.is_none() && options.region_gap.is_none() {
            shared.inside.store(1, Relaxed);
        }
        let mut inner = Inner {
            journal: None,
            mappings: Mappings::new(),
            threads: HashMap::new(),
            code: Code::default(),
            said: HashSet::new(),
            operations: HashMap::new(),
            ends: HashMap::new(),
            met: Met::default(),
            process,
        };
        inner.begin(&options)?;
        Ok(Recorder {
            shared,
            files: Files::new(options.files.clone(), shared),
            options,
            span: [AtomicU64::new(u64::MAX), AtomicU64::new(0)],
            ends: [AtomicU64::new(u64::MAX), AtomicU64::new(0)],
            inner: Mutex::new(inner),
        })
    }
    /// The changing part; for the thread whose turn it is.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// A process with this number begins in a copy of its parent.
    pub(crate) fn restart(&self, process: u32) {
        let mut inner = self.lock();
        inner.process = process;
        inner.threads.clear();
        inner.operations.clear();
        inner.met = Met::default();
        inner.code.tell_again();
        // The parent's journal stays its own.
        let begun = inner.begin(&self.options);
        drop(inner);
        match begun {
            Ok(()) => self.loaded(),
            Err(why) => self.fail(&why),
        }
    }
    fn may_be_persistent(&self, address: u64, bytes: u64) -> bool {
        address + bytes > self.span[0].load(Relaxed) && address < self.span[1].load(Relaxed)
    }
    /// Changes where files are mapped.
    pub(crate) fn remap(&self, change: impl FnOnce(&mut Mappings)) {
        let mut inner = self.lock();
        change(&mut inner.mappings);
        let (from, to) = inner.mappings.span();
        self.span[0].store(from, Relaxed);
        self.span[1].store(to, Relaxed);
    }

    /// After a memory access.
    pub(crate) fn memory(&self, vcpu: u32, store: bool, bytes: u64, address: u64, place: &Place) {
        self.take();
        let (atomic, several) = (place.class == Class::Atomic, self.shared.several.load(Relaxed) != 0);
        if self.may_be_persistent(address, bytes) {
            if store || several {
                self.access(vcpu, store, bytes, address, place);
            }
        } else if several && !store && address >= self.ends[0].load(Relaxed) && address <= self.ends[1].load(Relaxed) {
            self.may_join(vcpu, address);
        } else if atomic && store && (several || AWAITED.get()) {
            // For what is on its way to memory an atomic is a fence, with one thread too.
            let (at, value) = (self.own(address), word(address));
            self.lock().met.at(address, vcpu);
            self.write(vcpu, place, &Event::Meet(at, value));
        } else {
            let met = several && may_be_met(address) && self.lock().met.is_news(address, vcpu, store);
            if met || self.options.volatile && self.records() && is_new(address / LINE) {
                self.plain(vcpu, store, address, place);
            }
        }
        if atomic && store && AWAITED.replace(false) {
            self.shared.persisted();
        }
        self.count_turn(atomic && store && several);
    }
    /// A plain access to volatile memory.
    fn plain(&self, vcpu: u32, store: bool, address: u64, place: &Place) {
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
            AWAITED.set(true);
            self.before_durable();
            self.write(vcpu, place, &Event::Flush(name, file, offset));
        }
    }
    fn write(&self, vcpu: u32, place: &Place, event: &Event) {
        self.touches(event);
        if !self.records() {
            return;
        }
        let mut inner = self.lock();
        // Who called matters of what may be lost or is made durable.
        let told = !matches!(
            event,
            Event::Load(..) | Event::Look(..) | Event::Keep(..) | Event::Meet(..)
        );
        let mut on_stack = false;
        let name = match told {
            true => {
                let [_, stack, frame] = registers::frame();
                on_stack = inner.mappings.persistent(stack).is_some();
                inner.code.stack(place.at, stack, frame)
            }
            false => place.name.get_or_init(|| inner.code.place(place.at)).clone(),
        };
        drop(inner);
        if on_stack {
            // Calls and local variables would be events.
            self.refuse(
                "a stack",
                "it lies in persistent memory, where it is not followed",
                &name,
            );
        }
        self.note(vcpu, event, &name);
    }
    /// An address of volatile memory of this process: every process has its own.
    fn own(&self, address: u64) -> u64 {
        address ^ u64::from(self.lock().process - 1) << 32
    }
    /// Whether events count now.
    fn records(&self) -> bool {
        let shared = self.shared;
        shared.begun.load(Relaxed) != 0 && shared.ended.load(Relaxed) == 0 && shared.inside.load(Relaxed) != 0
    }
    /// Writes an event and its place to the journal.
    pub(crate) fn note(&self, vcpu: u32, event: &Event, place: &str) {
        self.touches(event);
        if !self.records() {
            return;
        }
        let mut inner = self.lock();
        let thread = match inner.threads.get(&vcpu) {
            Some(thread) => *thread,
            None => {
                let new = self.shared.threads.fetch_add(1, Relaxed);
                inner.threads.insert(vcpu, new);
                let acknowledges = self.options.acknowledge.is_some();
                if acknowledges {
                    inner.operations.insert(vcpu, 0);
                }
                drop(inner);
                if acknowledges {
                    self.note(vcpu, &Event::Operation("begin", 0), place);
                }
                if new > 0 {
                    self.begun(vcpu);
                }
                inner = self.lock();
                new
            }
        };
        let (number, work) = (self.shared.events.fetch_add(1, Relaxed), self.work());
        let modules = inner.code.untold_modules();
        let done = inner.append(&format!("{modules}e {number} {thread} {work} {event} @{place}\n"));
        drop(inner);
        if thread >= MOST_THREADS {
            self.refuse(
                "a thread number above 255",
                "more threads touch persistent memory than a log can tell apart",
                place,
            );
        } else if let Err(why) = done {
            self.fail(&why);
        }
    }
    /// Writes lines that are no events.
    pub(crate) fn tell(&self, lines: &str) {
        let done = self.lock().append(lines);
        if let Err(why) = done {
            self.fail(&why);
        }
    }
    /// The same, but a line only once.
    pub(crate) fn tell_once(&self, line: &str) {
        if self.lock().said.insert(line.to_owned()) {
            self.tell(line);
        }
    }
    /// The program is loaded.
    pub(crate) fn loaded(&self) {
        self.tell(&format!("program {}\n", crate::executed::program().display()));
    }
    /// Whether a thread has an event.
    pub(crate) fn is_known(&self, vcpu: u32) -> bool {
        self.lock().threads.contains_key(&vcpu)
    }
    /// A function was found by its name.
    pub(crate) fn found(&self, name: &str) {
        self.tell(&format!("found {name}\n"));
    }
    /// Something happened that cannot be recorded: recording ends, and only such things are counted from here on.
    pub(crate) fn refuse(&self, call: &str, why: &str, place: &str) {
        let modules = self.lock().code.untold_modules();
        // An error stays one.
        let _ = self.shared.ended.compare_exchange(0, 1, Relaxed, Relaxed);
        self.tell(&format!("{modules}refused {call} @{place} {why}\n"));
    }
    /// Recording cannot go on.
    fn fail(&self, why: &str) {
        if self.shared.ended.swap(FAILED, Relaxed) != FAILED {
            let _ = std::fs::write(self.options.folder.join("failed"), why);
        }
    }
}

impl Inner {
    /// Starts the journal of this process.
    fn begin(&mut self, options: &Options) -> Result<(), String> {
        let path = options.folder.join(format!("journal-{}", self.process));
        // Not another name: two processes would write one journal.
        let journal = Journal::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        self.journal = Some(journal);
        Ok(())
    }
    /// A thread ends: its vCPU may be another's after it.
    pub(crate) fn forget(&mut self, vcpu: u32) {
        self.threads.remove(&vcpu);
        self.met.forget(vcpu);
    }
    fn append(&mut self, lines: &str) -> Result<(), String> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        let done = journal.append(lines.as_bytes());
        done.map_err(|e| format!("the recording cannot be written: {e}"))
    }
    /// The operation that a thread is in, which ends now, if it has one.
    pub(crate) fn next_operation(&mut self, vcpu: u32) -> Option<u32> {
        let operation = self.operations.get_mut(&vcpu)?;
        *operation += 1;
        Some(*operation - 1)
    }
    /// The place of the system call that a thread is in.
    pub(crate) fn place_of_call(&mut self) -> String {
        let [at, stack, frame] = registers::frame();
        self.code.stack(at, stack, frame)
    }
}
