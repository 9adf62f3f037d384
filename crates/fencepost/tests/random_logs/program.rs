//! A random execution as a user would record it: what threads stored, flushed and fenced, and the text of its log.

use super::Dice;
use std::fmt::Write as _;

/// Words of a line.
pub(super) const WORDS: usize = 8;
const LINE: usize = 64;
const PAGE: usize = 4096;

/// One line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub thread: usize,
    pub what: What,
}

/// What a thread did. Lines are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Begin(u32),
    End(u32),
    Ack(u32),
    Store(Store),
    Flush {
        line: usize,
        how: &'static str,
    },
    Fence(&'static str),
    /// The system said that this line is durable.
    Sync {
        line: usize,
    },
    /// A volatile store or load, of a word that threads hand on.
    Volatile {
        stores: bool,
        value: u64,
    },
    /// An atomic of volatile memory, which is a fence for flushes before it: of a word of its own, or of the one that threads hand on.
    Atomic {
        handed_on: bool,
        value: u64,
    },
}

/// A store to persistent memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Store {
    pub line: usize,
    /// Byte in its line, a multiple of its width.
    pub byte: usize,
    pub width: usize,
    pub value: u64,
    /// Non-temporal.
    pub nt: bool,
}

/// A random execution. Either all stores to a line are non-temporal, and one thread's, or none is: what may be durable of a line
/// follows of that line alone then.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub events: Vec<Event>,
    pub lines: Vec<Line>,
    pub threads: usize,
    /// Each line is a file of its own.
    pub files: bool,
    /// Bytes from one line to the next: they are neighbours, or on pages of their own.
    pub apart: usize,
}

/// Who stores to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// One thread, or all of them.
    pub thread: Option<usize>,
    /// Past the caches.
    pub nt: bool,
}

const FLUSHES: [&str; 4] = ["clwb", "clwb", "clflushopt", "clflush"];
const FENCES: [&str; 3] = ["sfence", "sfence", "mfence"];

impl Program {
    /// Of one or two threads, up to seven stores.
    pub(super) fn random(rng: &mut Dice) -> Program {
        let threads = 1 + rng.below(2) as usize;
        let shares = threads > 1 && rng.below(3) == 0;
        let line = |line: usize, dice: u64| Line {
            thread: (!shares || line > 1).then_some(line % threads),
            nt: dice == 0 && (!shares || line > 1),
        };
        let lines = (0..threads + rng.below(3) as usize)
            .map(|l| line(l, rng.below(4)))
            .collect();
        let files = rng.below(4) == 0;
        let mut program = Program {
            events: Vec::new(),
            lines,
            threads,
            files,
            apart: if files || rng.below(2) == 0 { LINE } else { PAGE },
        };
        let (mut stores, mut turns) = (0, 0);
        let mut operations = vec![(0, None); threads];
        while stores < 7 && turns < 26 {
            turns += 1;
            let thread = rng.below(threads as u64) as usize;
            let what = program.turn(rng, thread, &mut operations[thread], stores);
            stores += u64::from(matches!(what, What::Store(_)));
            program.events.push(Event { thread, what });
        }
        // A log has the threads that it names.
        if program.events.iter().all(|e| e.thread + 1 < threads) {
            let (thread, what) = (threads - 1, What::Fence("sfence"));
            program.events.push(Event { thread, what });
        }
        if stores == 0 {
            let what = What::Store(program.store(rng, 0, 1));
            program.events.push(Event { thread: 0, what });
        }
        program
    }

    /// What a thread does next; `operations`: how many have begun, and the one that runs.
    fn turn(&self, rng: &mut Dice, thread: usize, operations: &mut (u32, Option<u32>), stores: u64) -> What {
        let own = |rng: &mut Dice| {
            let may = |l: &usize| self.lines[*l].thread.is_none_or(|t| t == thread);
            let own: Vec<usize> = (0..self.lines.len()).filter(may).collect();
            own[rng.below(own.len() as u64) as usize]
        };
        match (rng.below(16), *operations) {
            (0 | 1, (n, None)) => {
                *operations = (n, Some(n));
                What::Begin(n)
            }
            (2, (n, Some(_))) => {
                *operations = (n + 1, None);
                What::End(n)
            }
            (3, (n, None)) if n > 0 => What::Ack(n - 1),
            (4..=6, _) => What::Flush {
                line: own(rng),
                how: FLUSHES[rng.below(4) as usize],
            },
            (7 | 8, _) => What::Fence(FENCES[rng.below(3) as usize]),
            (9, _) if rng.below(3) == 0 => What::Sync { line: own(rng) },
            (10, _) if rng.below(2) == 0 => What::Atomic {
                handed_on: rng.below(2) == 0,
                value: stores,
            },
            (9..=11, _) if self.threads > 1 && (self.shares() || rng.below(3) == 0) => What::Volatile {
                stores: rng.below(2) == 0,
                value: stores,
            },
            _ => {
                let line = own(rng);
                What::Store(self.store(rng, line, stores + 1))
            }
        }
    }

    /// A store to a line; no two store equal bytes.
    fn store(&self, rng: &mut Dice, line: usize, number: u64) -> Store {
        let nt = self.lines[line].nt;
        let width = match nt {
            true => 8,
            false => [8, 8, 4, 2, 1][rng.below(5) as usize],
        };
        let word = [0, 0, 1, 7][rng.below(4) as usize];
        let byte = word * 8 + width * rng.below((8 / width) as u64) as usize;
        // Every byte of it differs from every byte of another store.
        let value = (0..width).fold(0, |v, i| v | (number * 16 + i as u64 + 1) << (8 * i));
        Store {
            line,
            byte,
            width,
            value,
            nt,
        }
    }

    /// Another execution of the same: its threads in another order.
    pub(super) fn shuffled(&self, rng: &mut Dice) -> Program {
        let mut left: Vec<Vec<Event>> = (0..self.threads).map(|t| self.alone(t).events).collect();
        left.iter_mut().for_each(|events| events.reverse());
        let mut events = Vec::new();
        while events.len() < self.events.len() {
            let thread = rng.below(self.threads as u64) as usize;
            events.extend(left[thread].pop());
        }
        Program { events, ..self.clone() }
    }

    /// What pmemcheck writes of one thread: stores, flushes and fences.
    pub(super) fn as_pmemcheck(&self) -> Program {
        let mut program = self.alone(0);
        let known = |e: &Event| match e.what {
            What::Flush { how, .. } => how != "clflush",
            What::Store(_) | What::Fence(_) => true,
            _ => false,
        };
        program.events.retain(known);
        for event in &mut program.events {
            if let What::Store(s) = &mut event.what {
                s.nt = false;
            }
        }
        program.lines.iter_mut().for_each(|l| l.nt = false);
        (program.threads, program.apart) = (1, LINE);
        program
    }

    /// The same in pmemcheck's words; none without a store.
    pub(super) fn pmemcheck_text(&self) -> Option<String> {
        self.stores().next()?;
        const BASE: usize = 0x7f00_0000_0000;
        let size = 4096;
        // The file was mapped there before, at another of its pages: what counts is the newest mapping.
        let mut text = "==1== pmemcheck\nSTART".to_owned();
        for offset in [size, 0] {
            let _ = write!(text, "|REGISTER_FILE;/pool;{BASE:#x};{size:#x};{offset:#x}");
        }
        for event in &self.events {
            let _ = match event.what {
                What::Store(s) => {
                    let at = BASE + s.line * LINE + s.byte;
                    write!(text, "|STORE;{at:#x};{:#x};{:#x}", s.value, s.width)
                }
                What::Flush { line, .. } => write!(text, "|FLUSH;{:#x};0x40", BASE + line * LINE),
                _ => write!(text, "|FENCE"),
            };
        }
        Some(text + "|STOP\n")
    }

    /// Whether threads store to one line.
    pub(super) fn shares(&self) -> bool {
        self.lines.iter().any(|l| l.thread.is_none())
    }

    /// What one of its threads does.
    pub(super) fn alone(&self, thread: usize) -> Program {
        Program {
            events: self.events.iter().filter(|e| e.thread == thread).copied().collect(),
            ..self.clone()
        }
    }

    /// The same without what makes anything durable for sure.
    pub(super) fn without_flushes(&self) -> Program {
        let stays = |e: &&Event| {
            !matches!(
                e.what,
                What::Flush { .. } | What::Fence(_) | What::Sync { .. } | What::Atomic { .. }
            )
        };
        Program {
            events: self.events.iter().filter(stays).copied().collect(),
            ..self.clone()
        }
    }

    /// Its stores, in order.
    pub(super) fn stores(&self) -> impl Iterator<Item = Store> {
        self.events.iter().filter_map(|e| match e.what {
            What::Store(s) => Some(s),
            _ => None,
        })
    }

    /// The log, with `durable` lines behind the events of their number.
    pub(super) fn text(&self, durable: &[(usize, String)]) -> String {
        let mut text = "fencepost-log 1\n".to_owned();
        if self.files {
            (0..self.lines.len()).for_each(|l| text.push_str(&format!("file {} {LINE} part{l}\n", l * LINE)));
        } else if self.apart == PAGE {
            let _ = writeln!(text, "persistent 0x100000 {}", self.lines.len() * PAGE);
        }
        for (i, event) in self.events.iter().enumerate() {
            let _ = writeln!(text, "{} {}", event.thread, event.what.text(i, self.apart));
            for (_, line) in durable.iter().filter(|(after, _)| *after == i) {
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    }
}

impl Program {
    /// The log of a memory that has room for a line more, on a page of its own where lines have pages.
    pub(super) fn longer_text(&self) -> String {
        let head = "fencepost-log 1\n";
        let text = self.text(&[]);
        let events = text.strip_prefix(head).unwrap_or(&text);
        let events = events
            .split_once('\n')
            .filter(|l| l.0.starts_with("persistent"))
            .map_or(events, |l| l.1);
        format!(
            "{head}persistent 0x100000 {}\n{events}",
            self.lines.len() * self.apart + PAGE
        )
    }
}

impl What {
    /// Whether it reads the word that threads hand on, and whether it stores there.
    pub(super) fn handed_on(self) -> (bool, bool) {
        match self {
            What::Volatile { stores, .. } => (!stores, stores),
            What::Atomic { handed_on, .. } => (handed_on, handed_on),
            _ => (false, false),
        }
    }
    fn text(&self, number: usize, apart: usize) -> String {
        match *self {
            What::Begin(n) => format!("begin {n}"),
            What::End(n) => format!("end {n}"),
            What::Ack(n) => format!("ack {n}"),
            What::Store(s) => {
                let at = s.line * apart + s.byte;
                let name = if s.nt { "nt" } else { "store" };
                let width = if s.width == 8 {
                    String::new()
                } else {
                    format!(" w{}", s.width)
                };
                format!("{name} pm+{at:#x} {}{width} @ program.c:{}", s.value, number + 1)
            }
            What::Flush { line, how } => format!("{how} pm+{:#x}", line * apart),
            What::Fence(how) => how.to_owned(),
            What::Sync { line } => format!("sync pm+{:#x} {LINE}", line * apart),
            What::Atomic { handed_on: true, value } => format!("rmw 0x1000 {value}"),
            What::Atomic { value, .. } => format!("rmw {:#x} {value}", 0x2000 + 64 * number),
            What::Volatile { stores: true, value } => format!("store 0x1000 {value}"),
            What::Volatile { stores: false, .. } => "load 0x1000".to_owned(),
        }
    }
}
