//! The state of a recording, and its journal. What memory callbacks do is in [`crate::accesses`], what system calls do in [`crate::calls`].

use crate::code::Code;
use crate::files::Files;
use crate::met::Met;
use crate::options::Options;
use crate::place::Place;
use crate::registers;
use fencepost_record::{Clocks, Event, FAILED, Journal, LastStores, Mapping, Mappings, Shared, Touched};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A recording in progress.
pub(crate) struct Recorder {
    /// What all processes share.
    pub shared: &'static Shared,
    /// What is asked for.
    pub options: Options,
    /// The persistent files.
    pub files: Files,
    /// Lowest and highest address of a mapping of one.
    pub span: [AtomicU64; 2],
    /// The same of words that the system clears when threads end.
    pub ends: [AtomicU64; 2],
    /// Lowest and highest address of volatile memory that processes share.
    pub among: [AtomicU64; 2],
    /// Who stored to words of volatile memory last.
    pub stores: OnceLock<LastStores>,
    inner: Mutex<Inner>,
}
/// What changes, for the thread whose turn it is.
pub(crate) struct Inner {
    journal: Option<Journal>,
    /// Where the persistent files are mapped.
    pub mappings: Mappings,
    /// Where volatile memory lies that processes share, by the addresses that it has for all of them.
    pub among: Mappings,
    /// What threads have seen in words of it.
    pub seen: HashMap<(u32, u64), u64>,
    /// The other ends of Unix sockets, by their inodes.
    pub peers: HashMap<u64, u64>,
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
    pub met: Met,
    /// What threads come after, by what is recorded.
    pub clocks: Clocks,
    /// Lines accessed before recording begins, where volatile memory matters.
    pub touched: Option<Touched>,
    /// Number of this process among those recorded, from 1.
    process: u32,
}

/// Threads that a log can tell apart.
const MOST_THREADS: u32 = 256;

/// Bytes of a cache line.
pub(crate) const LINE: u64 = 64;

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
            among: Mappings::new(),
            seen: HashMap::new(),
            peers: HashMap::new(),
            threads: HashMap::new(),
            code: Code::default(),
            said: HashSet::new(),
            operations: HashMap::new(),
            ends: HashMap::new(),
            met: Met::default(),
            clocks: Clocks::default(),
            touched: options.volatile.then(Touched::default),
            process,
        };
        inner.begin(&options)?;
        Ok(Recorder {
            shared,
            files: Files::new(options.files.clone(), shared),
            options,
            span: [AtomicU64::new(u64::MAX), AtomicU64::new(0)],
            ends: [AtomicU64::new(u64::MAX), AtomicU64::new(0)],
            among: [AtomicU64::new(u64::MAX), AtomicU64::new(0)],
            stores: OnceLock::new(),
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
        inner.seen.clear();
        inner.clocks = Clocks::default();
        inner.touched = self.options.volatile.then(Touched::default);
        Recorder::is_numbered(None);
        inner.code.tell_again();
        // The parent's journal stays its own.
        let begun = inner.begin(&self.options);
        drop(inner);
        match begun {
            Ok(()) => self.loaded(),
            Err(why) => self.fail(&why),
        }
    }
    /// Changes where memory is mapped: first what was there, then perhaps persistent files.
    pub(crate) fn remap(&self, change: impl Fn(&mut Mappings), add: Option<Mapping>) {
        let mut inner = self.lock();
        change(&mut inner.among);
        change(&mut inner.mappings);
        add.into_iter().for_each(|m| inner.mappings.add(m));
        let (from, to) = inner.mappings.span();
        self.span[0].store(from, Relaxed);
        self.span[1].store(to, Relaxed);
    }

    /// Writes an event of an instruction, in the region of interest.
    pub(crate) fn write(&self, vcpu: u32, place: &Place, event: &Event) {
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
    /// An address of volatile memory of this process: every process has its own, but for what they share.
    pub(crate) fn own(&self, address: u64) -> u64 {
        self.lock().own(address)
    }
    /// Whether events count now.
    pub(crate) fn records(&self) -> bool {
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
                Recorder::is_numbered(Some(new));
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
                self.saw_early(vcpu, new);
                if self.options.volatile {
                    self.tell_warmth();
                    self.tell(&format!("vcpu {vcpu} {new}\n"));
                }
                inner = self.lock();
                new
            }
        };
        let (number, work) = (self.shared.events.fetch_add(1, Relaxed), self.work());
        inner.meets(thread, event, number);
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
    /// An address of volatile memory of this process: every process has its own, but for what they share.
    pub(crate) fn own(&self, address: u64) -> u64 {
        match self.among.find(address) {
            Some(m) => m.offset + (address - m.start),
            None => address ^ u64::from(self.process - 1) << 32,
        }
    }
    /// An event at which threads may meet.
    fn meets(&mut self, thread: u32, event: &Event, number: u64) {
        match *event {
            Event::Meet(at, _) => {
                self.clocks.takes_over(thread, at);
                self.clocks.hands_on(thread, at, number);
            }
            Event::Keep(at, _) => self.clocks.hands_on(thread, at, number),
            Event::Look(at) => self.clocks.takes_over(thread, at),
            _ => {}
        }
    }
    /// A thread ends: its vCPU may be another's after it.
    pub(crate) fn forget(&mut self, vcpu: u32) {
        self.threads.remove(&vcpu);
        self.met.forget(vcpu);
        self.seen.retain(|(other, _), _| *other != vcpu);
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
