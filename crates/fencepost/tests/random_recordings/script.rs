//! Random scripts for the player, and what a recorder must say of each of their operations.

use super::Dice;
use super::spaces::{At, FileState, Open, PAGE, Page, Slot};
use std::fmt::Write as _;

/// Pages that all actors store to; each has one more of the same file for itself, behind them.
pub(super) const COMMON: u64 = 2;
/// Bytes that are stored one by one where a recording is long: more than a journal keeps at a time.
const LONG: u64 = COMMON * PAGE;
/// Actors at most: the program itself and those that it starts.
pub(super) const ACTORS: usize = 4;

/// What an atomic instruction makes of a word.
#[derive(Copy, Clone, Debug)]
pub(super) enum Change {
    Add(u64),
    Set(u64),
    Or(u64),
    /// To the second number where the first is there.
    Swap(u64, u64),
}

/// What a log must say next of an actor.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Stores of an instruction; `whole`: in one piece.
    Stores {
        want: Vec<(At, u8)>,
        nt: bool,
        whole: bool,
    },
    /// What a call writes: what it does not change need not be said.
    Written(Vec<(At, u8)>),
    /// The same, of bytes that are read from there at that time.
    Filled {
        from: Vec<At>,
        to: Vec<At>,
    },
    /// An atomic on so many bytes.
    Atomic {
        at: At,
        width: u64,
        change: Change,
    },
    /// An atomic on volatile memory that is a fence for what is on its way, and whether it was seen.
    VolatileAtomic(bool),
    /// What was loaded from the one, plus a number, to the other.
    Derived {
        from: At,
        to: At,
        width: u64,
        added: u64,
    },
    Flush(&'static str, At),
    Fence(&'static str),
    /// Pages that become durable; of a whole file the others of it may be named too.
    Sync {
        pages: Vec<At>,
        whole: bool,
    },
    /// A range that does, byte for byte.
    SyncRange(At, u64),
    /// A file has another length.
    Length(usize, u64),
    /// What lies behind a shorter length may be durably zero when the file is longer again.
    MaySync(usize, u64),
    LengthSync(usize),
    /// An operation ends and is acknowledged, and the next one begins.
    Done,
    /// Another actor is told something, by this number, and hears it.
    Posts(usize),
    Hears(usize),
}

/// One actor of a script.
#[derive(Default)]
pub(super) struct Actor {
    pub(super) steps: Vec<Step>,
    /// A process, and not a thread.
    process: bool,
    /// The mapping of the common file that stays.
    pub(super) base: u64,
    pub(super) slots: Vec<Slot>,
    pub(super) fds: Vec<(u64, Open)>,
    /// Whether something of it is on its way to memory.
    pub(super) awaited: bool,
}

/// A script.
pub(crate) struct Script {
    pub(super) text: String,
    pub(super) actors: Vec<Actor>,
    pub(super) files: Vec<FileState>,
    /// Lengths of the files before the program runs, and when recording begins.
    pub(super) first_lengths: Vec<u64>,
    pub(super) begin_lengths: Vec<u64>,
    pub(super) region: bool,
    pub(super) done: bool,
    pub(super) positions: Vec<u64>,
    pub(super) numbers: [u64; 3],
}

pub(super) const SLOT: usize = 0;
pub(super) const FD: usize = 1;
const HAND: usize = 2;

impl Script {
    /// A random script: the actors' setting up, what each does, and their ends.
    pub(crate) fn random(dice: &mut Dice) -> Script {
        let others = if dice.below(2) == 0 {
            0
        } else {
            1 + dice.below(ACTORS as u64 - 1)
        } as usize;
        let common = (COMMON + ACTORS as u64) * PAGE;
        let own = |dice: &mut Dice| PAGE * (1 + dice.below(4)) + dice.below(3) * dice.below(PAGE);
        let mut lengths = vec![common];
        lengths.extend((0..=others).map(|_| own(dice)));
        let file = |l: &u64| FileState {
            length: *l,
            pending: false,
            touched: false,
        };
        let mut script = Script {
            text: String::new(),
            actors: (0..=others).map(|_| Actor::default()).collect(),
            files: lengths.iter().map(file).collect(),
            begin_lengths: lengths.clone(),
            first_lengths: lengths,
            region: others == 0 && dice.below(3) == 0,
            done: dice.below(3) == 0,
            positions: Vec::new(),
            numbers: [0; 3],
        };
        script.begins(0, dice);
        (1..=others).for_each(|other| script.starts(other, dice));
        for _ in 0..2 + dice.below(4) {
            for actor in 0..=others {
                script.some(actor, dice);
            }
            if others > 0 && dice.below(2) == 0 {
                script.tells(dice);
            }
        }
        // A recording that goes on for long.
        if dice.below(16) == 0 {
            (0..2).for_each(|_| script.sets(dice.below(others as u64 + 1) as usize, LONG, dice));
        }
        (1..=others).for_each(|other| script.ends(other, dice));
        script.some(0, dice);
        script
    }
    /// The program starts a thread or a process.
    fn starts(&mut self, other: usize, dice: &mut Dice) {
        self.some(0, dice);
        let (hand, process) = (self.next(HAND) as usize, dice.below(2) == 0);
        self.actors[0].steps.push(Step::Posts(hand));
        self.say(0, if process { "fork" } else { "spawn" }, &[other as u64]);
        self.actors[other].process = process;
        if process {
            // It begins with what its parent has mapped; of its parent's own file nobody else may change the length.
            let own = |p: &Page| matches!(p, Page::Shared((file, _)) if *file > 0);
            let slots = self.actors[0].slots.iter().filter(|s| !s.pages.iter().any(own));
            self.actors[other].slots = slots.cloned().collect();
        }
        self.begins(other, dice);
        // Its first step is the store that says who it is.
        let first = self.actors[other].steps.len() - 1;
        self.actors[other].steps.insert(first, Step::Hears(hand));
    }
    /// The program waits for its end, or leaves a process behind.
    fn ends(&mut self, other: usize, dice: &mut Dice) {
        if self.actors[other].process && dice.below(3) == 0 {
            return;
        }
        let hand = self.next(HAND) as usize;
        self.actors[other].steps.push(Step::Posts(hand));
        let op = if self.actors[other].process { "wait" } else { "join" };
        self.say(0, op, &[other as u64]);
        self.actors[0].steps.push(Step::Hears(hand));
    }
    pub(super) fn say(&mut self, actor: usize, op: &str, numbers: &[u64]) {
        let _ = write!(self.text, "{actor} {op}");
        (0..6).for_each(|i| {
            let _ = write!(self.text, " {}", numbers.get(i).copied().unwrap_or(0));
        });
        self.text.push('\n');
    }
    fn next(&mut self, what: usize) -> u64 {
        self.numbers[what] += 1;
        self.numbers[what] - 1
    }
    /// An actor opens and maps its files, and says by a store who it is.
    fn begins(&mut self, actor: usize, dice: &mut Dice) {
        self.opens(actor, 0, 0);
        self.maps(actor, 0, 0, 0, self.files[0].length, false);
        let base = self.numbers[SLOT] - 1;
        self.actors[actor].base = base;
        if self.region {
            (0..dice.below(8)).for_each(|_| {
                self.one(actor, dice);
            });
            self.actors[actor].steps.clear();
            self.say(actor, "region", &[]);
            let durable = |f: &mut FileState| f.pending = false;
            self.files.iter_mut().for_each(durable);
            self.begin_lengths = self.files.iter().map(|f| f.length).collect();
        }
        let (at, value) = (8 * actor as u64, 0xa0 + actor as u64);
        self.say(actor, "st", &[base, at, 8, value]);
        let want = (0..8).map(|i| ((0, at + i), value.to_le_bytes()[i as usize])).collect();
        self.actors[actor].steps.push(Step::Stores {
            want,
            nt: false,
            whole: true,
        });
    }
    fn some(&mut self, actor: usize, dice: &mut Dice) {
        (0..dice.below(8)).for_each(|_| {
            self.one(actor, dice);
        });
    }
    /// One actor tells another something.
    fn tells(&mut self, dice: &mut Dice) {
        let all = self.actors.len() as u64;
        let from = dice.below(all) as usize;
        let to = (from + 1 + dice.below(all - 1) as usize) % all as usize;
        let (hand, how) = (self.next(HAND), dice.below(7));
        self.actors[from].steps.push(Step::Posts(hand as usize));
        self.say(from, "post", &[hand, how]);
        self.say(to, "await", &[hand, how]);
        self.actors[to].steps.push(Step::Hears(hand as usize));
    }
    pub(super) fn opens(&mut self, actor: usize, file: usize, how: u64) -> u64 {
        let fd = self.next(FD);
        self.say(actor, "open", &[fd, file as u64, how]);
        self.positions.push(0);
        let open = Open {
            file,
            position: self.positions.len() - 1,
            append: how == 1,
            synchronous: how > 1,
        };
        self.actors[actor].fds.push((fd, open));
        fd
    }
    /// Maps pages of a file, by the descriptor with this place in the actor's list.
    pub(super) fn maps(&mut self, actor: usize, fd: usize, file: usize, offset: u64, length: u64, private: bool) {
        let (slot, number) = (self.next(SLOT), self.actors[actor].fds[fd].0);
        self.say(actor, "map", &[slot, number, offset, length, u64::from(private)]);
        let pages = self.shown(actor, file, offset, length, private);
        self.actors[actor].slots.push(Slot {
            number: slot,
            pages,
            one_call: true,
        });
    }
    /// What pages of a file show when they are mapped.
    pub(super) fn shown(&mut self, actor: usize, file: usize, offset: u64, length: u64, private: bool) -> Vec<Page> {
        if !private {
            self.files[file].touched = true;
            self.length_durable(actor, file);
        }
        let page = |i: u64| {
            if private {
                Page::Private
            } else {
                Page::Shared((file, offset + i * PAGE))
            }
        };
        (0..length.div_ceil(PAGE)).map(page).collect()
    }
    fn length_durable(&mut self, actor: usize, file: usize) {
        if std::mem::take(&mut self.files[file].pending) {
            self.actors[actor].steps.push(Step::LengthSync(file));
        }
    }
}
