//! The state of a recording, and what its callbacks do.

use crate::{qemu, registers};
use fencepost_native::record::{Class, Event, LogWriter, Mapping, Mappings, Operand, Turn, View};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// An instruction that may be recorded.
pub struct Place {
    /// Its address.
    pub at: u64,
    /// The address after it.
    pub next: u64,
    /// What it is.
    pub class: Class,
    /// Its name in the log, once it was asked for.
    pub name: OnceLock<String>,
}

/// A recording in progress.
pub struct LogRecorder {
    turn: Turn,
    /// Memory callbacks after which another thread may have its turn.
    quantum: u64,
    /// Files whose path starts with this are persistent.
    file: String,
    /// Lowest and highest address of the persistent file.
    span: [AtomicU64; 2],
    several: AtomicBool,
    inner: Mutex<Inner>,
    /// Callbacks in a forked child record nothing.
    child: AtomicBool,
}
struct Inner {
    log: LogWriter<BufWriter<File>>,
    mappings: Mappings,
    begun: bool,
    threads: HashMap<u32, u32>,
    /// Link-time address of the program's code subtracted from where it runs.
    bias: Option<u64>,
    program: String,
    started: Instant,
    timed: Duration,
    failed: Option<std::io::Error>,
}

/// Instructions executed by whoever has the turn.
pub static EXECUTED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static MINE: Cell<bool> = const { Cell::new(false) };
    static SINCE: Cell<u64> = const { Cell::new(0) };
    static WORK: Cell<u64> = const { Cell::new(0) };
    static LEFT: Cell<u64> = const { Cell::new(0) };
    static CALL: RefCell<[u64; 6]> = const { RefCell::new([0; 6]) };
}

const MMAP: i64 = 9;
const MUNMAP: i64 = 11;
const CLONE: i64 = 56;
const FORK: i64 = 57;
const VFORK: i64 = 58;
const SHARES_MEMORY: u64 = 0x100;

impl LogRecorder {
    /// Starts a log.
    pub fn new(log: &str, file: &str, quantum: u64) -> Result<LogRecorder, String> {
        let out = File::create(log).map_err(|e| format!("{log}: {e}"))?;
        let log = LogWriter::new(BufWriter::with_capacity(1 << 20, out)).map_err(|e| e.to_string())?;
        Ok(LogRecorder {
            turn: Turn::new(),
            quantum,
            file: file.to_owned(),
            span: [AtomicU64::new(u64::MAX), AtomicU64::new(0)],
            several: AtomicBool::new(false),
            inner: Mutex::new(Inner {
                log,
                mappings: Mappings::new(),
                begun: false,
                threads: HashMap::new(),
                bias: None,
                program: String::new(),
                started: Instant::now(),
                timed: Duration::ZERO,
                failed: None,
            }),
            child: AtomicBool::new(false),
        })
    }
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Makes it this thread's turn, if it is not.
    fn take(&self) {
        if !MINE.get() {
            self.turn.take();
            MINE.set(true);
            SINCE.set(EXECUTED.load(Relaxed));
        }
    }
    fn leave(&self) {
        if MINE.replace(false) {
            WORK.set(WORK.get() + EXECUTED.load(Relaxed).saturating_sub(SINCE.get()));
            self.turn.leave();
        }
    }
    /// Instructions of this thread since it was last asked.
    fn work(&self) -> u64 {
        let now = EXECUTED.load(Relaxed);
        WORK.replace(0) + now.saturating_sub(SINCE.replace(now))
    }
    fn count_turn(&self) {
        match LEFT.get() {
            0 => {
                LEFT.set(self.quantum);
                WORK.set(WORK.get() + EXECUTED.load(Relaxed).saturating_sub(SINCE.get()));
                self.turn.pass();
                SINCE.set(EXECUTED.load(Relaxed));
            }
            n => LEFT.set(n - 1),
        }
    }
    fn may_be_persistent(&self, address: u64) -> bool {
        address >= self.span[0].load(Relaxed) && address < self.span[1].load(Relaxed)
    }

    /// After a memory access.
    pub fn memory(&self, vcpu: u32, store: bool, bytes: u64, address: u64, place: &Place) {
        if self.child.load(Relaxed) {
            return;
        }
        self.take();
        let atomic = place.class == Class::Atomic;
        if self.may_be_persistent(address) {
            if store || self.several.load(Relaxed) {
                self.access(vcpu, store, bytes, address, place);
            }
        } else if atomic && store && self.several.load(Relaxed) {
            let value = word(address);
            self.write(vcpu, place, |_| Some(Event::Meet { address, value }));
        }
        self.count_turn();
    }
    fn access(&self, vcpu: u32, store: bool, bytes: u64, address: u64, place: &Place) {
        let end = address + bytes;
        let mut at = address;
        while at < end {
            let mut width = 8;
            while !at.is_multiple_of(width) || at + width > end {
                width /= 2;
            }
            let value = word(at) >> (at % 8 * 8);
            let value = if width == 8 {
                value
            } else {
                value & ((1 << (width * 8)) - 1)
            };
            let (whole, class) = (word(at), place.class);
            self.write(vcpu, place, |maps| {
                let offset = maps.persistent(at)?;
                Some(match (store, class) {
                    (true, Class::Atomic) => Event::Atomic { offset, value: whole },
                    (true, _) => Event::Store {
                        offset,
                        value,
                        bytes: width as u8,
                        non_temporal: class == Class::NonTemporal,
                    },
                    (false, _) => Event::Load { offset },
                })
            });
            at += width;
        }
    }
    /// At a fence.
    pub fn fence(&self, vcpu: u32, name: &'static str, place: &Place) {
        if self.child.load(Relaxed) {
            return;
        }
        self.take();
        self.write(vcpu, place, |_| Some(Event::Fence(name)));
    }
    /// At a flush.
    pub fn flush(&self, vcpu: u32, name: &'static str, operand: &Operand, place: &Place) {
        if self.child.load(Relaxed) {
            return;
        }
        self.take();
        let address = registers::address(vcpu, operand, place.next);
        self.write(vcpu, place, |maps| Some(Event::Flush(name, maps.persistent(address)?)));
    }
    fn write(&self, vcpu: u32, place: &Place, event: impl FnOnce(&Mappings) -> Option<Event>) {
        let mut inner = self.lock();
        let timed = inner.log.events().is_multiple_of(64).then(Instant::now);
        // Nothing is of interest before the persistent file is there.
        let Some(event) = event(&inner.mappings).filter(|_| inner.begun) else {
            return;
        };
        let next = inner.threads.len() as u32;
        let thread = *inner.threads.entry(vcpu).or_insert(next);
        let work = self.work();
        let name = place.name.get_or_init(|| inner.name(place.at));
        let done = inner
            .log
            .work(thread, work)
            .and_then(|()| inner.log.event(thread, event, name));
        if let Err(e) = done {
            inner.failed = Some(e);
        }
        if let Some(since) = timed {
            inner.timed += since.elapsed() * 64;
        }
    }

    /// Before a system call: others may go on while it lasts.
    pub fn call(&self, number: i64, arguments: [u64; 6]) {
        if self.child.load(Relaxed) {
            return;
        }
        CALL.with(|c| *c.borrow_mut() = arguments);
        if number == CLONE && arguments[0] & SHARES_MEMORY != 0 {
            self.several.store(true, Relaxed);
        }
        self.leave();
    }
    /// After a system call.
    pub fn call_returned(&self, number: i64, result: i64) {
        let arguments = CALL.with(|c| *c.borrow());
        let forked = matches!(number, FORK | VFORK) || number == CLONE && arguments[0] & SHARES_MEMORY == 0;
        if forked && result == 0 {
            self.child.store(true, Relaxed);
        }
        if self.child.load(Relaxed) {
            return;
        }
        self.take();
        match number {
            MMAP if !(-4096..0).contains(&result) => self.mapped(result as u64, arguments),
            MUNMAP if result == 0 => self.remap(|maps| maps.remove(arguments[0], arguments[1])),
            _ => {}
        }
    }
    fn remap(&self, change: impl FnOnce(&mut Mappings)) {
        let mut inner = self.lock();
        change(&mut inner.mappings);
        let (from, to) = inner.mappings.span();
        self.span[0].store(from, Relaxed);
        self.span[1].store(to, Relaxed);
    }
    fn mapped(&self, start: u64, [_, length, _, flags, fd, offset]: [u64; 6]) {
        const ANONYMOUS: u64 = 0x20;
        const SHARED_KINDS: u64 = 3; // MAP_SHARED is 1, MAP_PRIVATE 2, MAP_SHARED_VALIDATE 3
        let link = format!("/proc/self/fd/{}", fd as i32);
        let path = match flags & ANONYMOUS {
            0 => std::fs::read_link(&link)
                .map(|p| p.to_string_lossy().into_owned())
                .unwrap_or_default(),
            _ => String::new(),
        };
        let shared = flags & SHARED_KINDS != 2;
        let persistent = shared && path.starts_with(&self.file);
        if persistent && !self.lock().begun {
            let content = std::fs::read(&path).unwrap_or_default();
            let mut inner = self.lock();
            inner.begun = true;
            let done = inner.log.persistent(start.wrapping_sub(offset), &content);
            inner.failed = done.err().or(inner.failed.take());
        }
        self.remap(|maps| {
            maps.add(Mapping {
                start,
                length: length.next_multiple_of(4096),
                offset,
                path,
                persistent,
                view: View::Shared,
            });
        });
    }
    /// At the end of the program.
    pub fn end(&self) {
        if self.child.load(Relaxed) {
            return;
        }
        let mut inner = self.lock();
        let flushed = inner.log.flush().err();
        let events = inner.log.events();
        let each = inner.timed.as_nanos().checked_div(u128::from(events)).unwrap_or(0);
        eprintln!(
            "fencepost: {events} events of {} threads recorded in {:.2} s; writing one took about {each} ns",
            inner.threads.len(),
            inner.started.elapsed().as_secs_f64()
        );
        if !inner.begun {
            eprintln!(
                "fencepost: no file whose path starts with {} was mapped shared",
                self.file
            );
        }
        if let Some(e) = inner.failed.take().or(flushed) {
            eprintln!("fencepost: the log is incomplete: {e}");
        }
    }
}

impl Inner {
    /// The place of an address of code: file and offset, `program+0x1234`.
    fn name(&mut self, at: u64) -> String {
        if let Some(m) = self.mappings.find(at).filter(|m| !m.path.is_empty()) {
            let file = m.path.rsplit('/').next().unwrap_or_default();
            return format!("{file}+{:#x}", m.offset + (at - m.start));
        }
        let bias = match self.bias {
            Some(bias) => bias,
            None => {
                let (program, bias) = program();
                self.program = program.rsplit('/').next().unwrap_or_default().to_owned();
                *self.bias.insert(bias)
            }
        };
        format!("{}+{:#x}", self.program, at.wrapping_sub(bias))
    }
}

/// The program, and how far from its link-time addresses it runs.
fn program() -> (String, u64) {
    // SAFETY: both have no precondition once the program is loaded; the path is a C string that stays.
    let (path, start) = unsafe {
        let path = qemu::qemu_plugin_path_to_binary();
        let text = match path.is_null() {
            true => String::new(),
            false => std::ffi::CStr::from_ptr(path).to_string_lossy().into_owned(),
        };
        (text, qemu::qemu_plugin_start_code())
    };
    let linked = std::fs::read(&path).ok().and_then(|elf| first_code(&elf));
    (path, start.wrapping_sub(linked.unwrap_or(start)))
}

/// Lowest link-time address of code in an ELF64 file: of its loaded segments that may be executed.
fn first_code(elf: &[u8]) -> Option<u64> {
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(elf.get(at..at + bytes)?);
        Some(u64::from_le_bytes(word))
    };
    let (table, size, count) = (
        number(32, 8)? as usize,
        number(54, 2)? as usize,
        number(56, 2)? as usize,
    );
    let segments = (0..count).map(|i| table + i * size);
    let code = segments.filter(|at| number(*at, 4) == Some(1) && number(at + 4, 4).is_some_and(|flags| flags & 1 == 1));
    code.filter_map(|at| number(at + 16, 8)).min()
}

/// The aligned word of the guest at an address.
fn word(address: u64) -> u64 {
    // SAFETY: the guest has just accessed bytes of this aligned word, so its page is mapped; racing accesses of other
    // guest threads are excluded by the turn.
    unsafe { ((address & !7).wrapping_add(qemu::guest_base) as *const u64).read_volatile() }
}
