//! A random execution as a user would record it: what threads stored, flushed and fenced, and the text of its log.

use super::Dice;

/// Words of a line.
pub(super) const WORDS: usize = 8;
pub(super) const LINE: usize = 64;
pub(super) const PAGE: usize = 4096;

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
    /// What memory holds before, by word.
    pub initial: Vec<u64>,
    /// The first word of the last line is the length of a file, which the other lines are.
    pub grows: bool,
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
        let grows = !files && rng.below(4) == 0;
        let mut program = Program {
            events: Vec::new(),
            lines,
            threads,
            files,
            apart: if files || grows || rng.below(2) == 0 {
                LINE
            } else {
                PAGE
            },
            initial: Vec::new(),
            grows,
        };
        if grows {
            program.lines.push(Line {
                thread: Some(0),
                nt: false,
            });
        }
        program.before(rng);
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

    /// What memory holds before it: mostly nothing, or some words, no byte of which any store has. A file has a length.
    fn before(&mut self, rng: &mut Dice) {
        let words = self.lines.len() * WORDS;
        let some = rng.below(2) == 0;
        let mut word = |w: usize| match some && rng.below(3) == 0 {
            true => 0xe1e2_e3e4_e5e6_e7e8 ^ w as u64,
            false => 0,
        };
        self.initial = (0..words).map(&mut word).collect();
        if self.grows {
            self.initial[words - WORDS] = rng.below((self.data() * LINE) as u64 + 1);
        }
    }

    /// Lines that are no length.
    pub(super) fn data(&self) -> usize {
        self.lines.len() - usize::from(self.grows)
    }

    /// What recovery sees of these words: of a file that grows what lies within its length, and that.
    pub(super) fn seen(&self, words: &[u64]) -> Vec<u64> {
        if !self.grows {
            return words.to_vec();
        }
        let data = self.data() * WORDS;
        let length = words[data].min((data * 8) as u64);
        let within = |w: usize| match length.saturating_sub(w as u64 * 8) {
            0 => 0,
            bytes @ 1..8 => words[w] & ((1 << (8 * bytes)) - 1),
            _ => words[w],
        };
        (0..data).map(within).chain([length]).collect()
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
        if self.grows && line == self.data() {
            let (width, value) = (8, 8 * number + number % 3);
            return Store {
                line,
                byte: 0,
                width,
                value,
                nt,
            };
        }
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
        program.initial.fill(0);
        program.grows = false;
        (program.threads, program.apart) = (1, LINE);
        program
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
}
