//! The state of a recording, and what its memory callbacks do. What system calls do is in [`crate::calls`].

use crate::code::Code;
use crate::files::Files;
use crate::guest::{value, word};
use crate::options::Options;
use crate::place::Place;
use crate::recent::is_new;
use crate::registers;
use crate::work::{EXECUTED, KEPT, progress};
use fencepost_native::record::{Class, Event, FAILED, Journal, Mappings, Operand, Schedule, Shared, Turn, pieces};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A recording in progress.
pub struct Recorder {
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
pub struct Inner {
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
    /// Number of this process among those recorded, from 1.
    process: u32,
}

/// Threads that a log can tell apart.
const MOST_THREADS: u32 = 256;

/// Bytes of a cache line.
const LINE: u64 = 64;
thread_local! {
    static TURN: RefCell<Option<Turn>> = const { RefCell::new(None) };
    /// The ticket of this thread's turn; 0 without one.
    static MINE: Cell<u32> = const { Cell::new(0) };
    static SINCE: Cell<u64> = const { Cell::new(0) };
    static WORK: Cell<u64> = const { Cell::new(0) };
    /// Whether this thread was seen within the region of interest; unknown for a new one.
    static INSIDE: Cell<Option<bool>> = const { Cell::new(None) };
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

impl Recorder {
    /// Joins a recording.
    pub fn join(folder: &Path) -> Result<Recorder, String> {
        let options = Options::read(folder)?;
        let shared = Shared::open(&folder.join("state")).map_err(|e| format!("{}: {e}", folder.display()))?;
        let process = shared.join();
        if process == 1 {
            // Without whoever reads the recording there is no use in going on.
            let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        }
        if options.region.is_none() {
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
    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Acts on this thread's place among those that take turns.
    pub fn turn<R>(&self, act: impl FnOnce(&mut Turn) -> R) -> R {
        TURN.with(|t| {
            act(t
                .borrow_mut()
                .get_or_insert_with(|| Turn::new(self.shared, self.options.schedule, progress)))
        })
    }
    /// Makes it this thread's turn, if it is not.
    pub fn take(&self) {
        let mine = MINE.get();
        if mine == 0 || !self.shared.is_turn_of(mine) {
            MINE.set(self.turn(Turn::take));
            SINCE.set(EXECUTED.load(Relaxed));
        }
        let inside = self.shared.inside.load(Relaxed) != 0;
        // What came before the region of interest costs no time.
        if INSIDE.replace(Some(inside)) == Some(false) && inside {
            self.work();
        }
    }
    /// Others may go on.
    pub fn leave(&self) {
        if MINE.replace(0) != 0 {
            WORK.set(WORK.get() + EXECUTED.load(Relaxed).saturating_sub(SINCE.get()));
            self.turn(|t| t.leave());
        }
    }
    /// The thread ends, or this program does.
    pub fn forget(&self, vcpu: u32) {
        self.take();
        self.lock().threads.remove(&vcpu);
        self.leave();
        self.turn(Turn::forget);
    }
    /// A forked process begins, in its only thread.
    pub fn forked(&self) {
        MINE.set(0);
        KEPT.store(false, Relaxed);
        self.turn(Turn::forked);
        let process = self.shared.join();
        self.take();
        let mut inner = self.lock();
        inner.process = process;
        inner.threads.clear();
        inner.operations.clear();
        inner.code.tell_again();
        // The parent's journal stays its own.
        let begun = inner.begin(&self.options);
        drop(inner);
        match begun {
            Ok(()) => self.loaded(),
            Err(why) => self.fail(&why),
        }
    }
    /// Instructions of this thread since it was last asked.
    fn work(&self) -> u64 {
        let now = EXECUTED.load(Relaxed);
        WORK.replace(0) + now.saturating_sub(SINCE.replace(now))
    }
    /// After an access. Where threads meet, as at locks, another one is likely to come in: what a thread does too late shows there.
    pub fn count_turn(&self, meets: bool) {
        const ONE_IN: u64 = 4;
        if meets && self.options.schedule != Schedule::Fair && self.turn(|t| t.chance(ONE_IN)) == 0 {
            LEFT.set(0);
        }
        match LEFT.get() {
            0 => {
                LEFT.set(self.quantum());
                WORK.set(WORK.get() + EXECUTED.load(Relaxed).saturating_sub(SINCE.get()));
                self.turn(Turn::pass);
                SINCE.set(EXECUTED.load(Relaxed));
            }
            n => LEFT.set(n - 1),
        }
    }
    /// Memory callbacks until another thread may have its turn, by chance. With odd seeds short ones are as likely as long ones, so
    /// that threads mix; with even ones any number is, so that a thread that comes in where threads meet also gets somewhere.
    fn quantum(&self) -> u64 {
        let most = self.options.quantum.max(1);
        match self.options.schedule {
            Schedule::Fair => self.options.quantum,
            Schedule::Random(seed) if seed % 2 == 0 => self.turn(|t| 1 + t.chance(most)),
            Schedule::Random(_) => self.turn(|t| {
                let scale = 1 << t.chance(u64::from(most.ilog2()) + 1);
                1 + t.chance(scale)
            }),
        }
    }
    fn may_be_persistent(&self, address: u64, bytes: u64) -> bool {
        address + bytes > self.span[0].load(Relaxed) && address < self.span[1].load(Relaxed)
    }
    /// Changes where files are mapped.
    pub fn remap(&self, change: impl FnOnce(&mut Mappings)) {
        let mut inner = self.lock();
        change(&mut inner.mappings);
        let (from, to) = inner.mappings.span();
        self.span[0].store(from, Relaxed);
        self.span[1].store(to, Relaxed);
    }

    /// After a memory access.
    pub fn memory(&self, vcpu: u32, store: bool, bytes: u64, address: u64, place: &Place) {
        self.take();
        let (atomic, several) = (place.class == Class::Atomic, self.shared.several.load(Relaxed) != 0);
        if self.may_be_persistent(address, bytes) {
            if store || several {
                self.access(vcpu, store, bytes, address, place);
            }
        } else if several && !store && address >= self.ends[0].load(Relaxed) && address <= self.ends[1].load(Relaxed) {
            self.may_join(vcpu, address);
        } else if atomic && store && several {
            let (at, value) = (self.lock().own(address), word(address));
            self.write(vcpu, place, &Event::Meet(at, value));
        } else if self.options.volatile && self.records() && is_new(address / LINE) {
            let (at, value) = (self.lock().own(address), word(address));
            let event = if store { Event::Keep(at, value) } else { Event::Look(at) };
            self.write(vcpu, place, &event);
        }
        self.count_turn(atomic && store && several);
    }
    fn access(&self, vcpu: u32, store: bool, bytes: u64, address: u64, place: &Place) {
        for (at, width) in pieces(address, bytes) {
            let Some((file, offset)) = self.lock().mappings.persistent(at) else {
                continue;
            };
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
    pub fn fence(&self, vcpu: u32, name: &'static str, place: &Place) {
        self.take();
        self.write(vcpu, place, &Event::Fence(name));
    }
    /// At a flush.
    pub fn flush(&self, vcpu: u32, name: &'static str, operand: &Operand, place: &Place) {
        self.take();
        let address = registers::address(vcpu, operand, place.next);
        let found = self.lock().mappings.persistent(address);
        if let Some((file, offset)) = found {
            self.write(vcpu, place, &Event::Flush(name, file, offset));
        }
    }
    fn write(&self, vcpu: u32, place: &Place, event: &Event) {
        if !self.records() {
            return;
        }
        let mut inner = self.lock();
        // Who called matters of what may be lost or is made durable.
        let told = !matches!(
            event,
            Event::Load(..) | Event::Look(..) | Event::Keep(..) | Event::Meet(..)
        );
        let name = match told {
            true => {
                let [_, stack, frame] = registers::frame(vcpu);
                inner.code.stack(place.at, stack, frame)
            }
            false => place.name.get_or_init(|| inner.code.place(place.at)).clone(),
        };
        drop(inner);
        self.note(vcpu, event, &name);
    }
    /// Whether events count now.
    fn records(&self) -> bool {
        let shared = self.shared;
        shared.begun.load(Relaxed) != 0 && shared.ended.load(Relaxed) == 0 && shared.inside.load(Relaxed) != 0
    }
    /// Writes an event and its place to the journal.
    pub fn note(&self, vcpu: u32, event: &Event, place: &str) {
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
        let news = inner.code.news();
        let done = inner.append(&format!("{news}e {number} {thread} {work} {event} @{place}\n"));
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
    pub fn tell(&self, lines: &str) {
        let done = self.lock().append(lines);
        if let Err(why) = done {
            self.fail(&why);
        }
    }
    /// The same, but a line only once.
    pub fn tell_once(&self, line: &str) {
        if self.lock().said.insert(line.to_owned()) {
            self.tell(line);
        }
    }
    /// The program is loaded.
    pub fn loaded(&self) {
        self.tell(&format!("program {}\n", crate::executed::program().display()));
    }
    /// Whether a thread has an event.
    pub fn is_known(&self, vcpu: u32) -> bool {
        self.lock().threads.contains_key(&vcpu)
    }
    /// A function was found by its name.
    pub fn found(&self, name: &str) {
        self.tell(&format!("found {name}\n"));
    }
    /// Something happened that cannot be recorded: recording ends, and only such things are counted from here on.
    pub fn refuse(&self, call: &str, why: &str, place: &str) {
        let news = self.lock().code.news();
        // An error stays one.
        let _ = self.shared.ended.compare_exchange(0, 1, Relaxed, Relaxed);
        self.tell(&format!("{news}refused {call} @{place} {why}\n"));
    }
    /// Recording cannot go on.
    fn fail(&self, why: &str) {
        if self.shared.ended.swap(FAILED, Relaxed) != FAILED {
            let _ = std::fs::write(self.options.folder.join("failed"), why);
        }
    }
    /// At the end of the program.
    pub fn end(&self) {
        self.leave();
        self.turn(Turn::forget);
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
    fn append(&mut self, lines: &str) -> Result<(), String> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        let done = journal.append(lines.as_bytes());
        done.map_err(|e| format!("the recording cannot be written: {e}"))
    }
    /// The operation that a thread is in, which ends now, if it has one.
    pub fn next_operation(&mut self, vcpu: u32) -> Option<u32> {
        let operation = self.operations.get_mut(&vcpu)?;
        *operation += 1;
        Some(*operation - 1)
    }
    /// The place of the system call that a thread is in.
    pub fn place_of_call(&mut self, vcpu: u32) -> String {
        let [at, stack, frame] = registers::frame(vcpu);
        self.code.stack(at, stack, frame)
    }
    /// An address of volatile memory of this process: every process has its own.
    fn own(&self, address: u64) -> u64 {
        address ^ u64::from(self.process - 1) << 32
    }
}
