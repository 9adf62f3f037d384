//! What an actor of a script does: one random operation, and what a recorder must say of it.
//!
//! An operation for which there is no place is none.

use super::Dice;
use super::script::{COMMON, Change, Script, Step};
use super::spaces::{At, PAGE};

/// Bytes that the player makes of a seed.
pub(super) fn pattern(count: u64, seed: u64) -> impl Iterator<Item = u8> {
    (0..count).map(move |i| (seed + 3 * i) as u8)
}
fn pairs(at: &[At], bytes: impl Iterator<Item = u8>) -> Vec<(At, u8)> {
    at.iter().copied().zip(bytes).collect()
}

impl Script {
    /// Whether an actor may store to a byte: of the common pages, its own page behind them, and its own file, as far as that goes.
    fn may_store(&self, actor: usize, (file, offset): At) -> bool {
        let page = offset / PAGE;
        let own = match file {
            0 => page < COMMON || page == COMMON + actor as u64,
            _ => file == actor + 1,
        };
        own && offset < self.files[file].length
    }
    /// A place of so many bytes that an actor may store to: slot, offset, and the bytes of files behind it.
    pub(super) fn place(&self, actor: usize, count: u64, align: u64, dice: &mut Dice) -> Option<(u64, u64, Vec<At>)> {
        let slots = &self.actors[actor].slots;
        (0..20).find_map(|_| {
            let slot = &slots[dice.below(slots.len() as u64) as usize];
            let room = slot.pages.len() as u64 * PAGE;
            // Near one another, and over the ends of lines and pages.
            let at = match dice.below(3) {
                0 => dice.below(room),
                1 => dice.below(room.div_ceil(PAGE)) * PAGE + dice.below(256),
                _ => (dice.below(room.div_ceil(PAGE)) + 1) * PAGE - dice.below(64),
            };
            let at = at / align * align;
            let bytes = slot.bytes(at, count)?;
            let good = bytes.iter().all(|b| self.may_store(actor, *b));
            good.then_some((slot.number, at, bytes))
        })
    }
    /// One operation, if there is a place for it.
    pub(super) fn one(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        match dice.below(20) {
            0..=4 => self.stores(actor, dice),
            5 => self.long(actor, dice),
            6 => self.past_the_caches(actor, dice),
            7 | 8 => self.atomic(actor, dice),
            9 => self.derived(actor, dice),
            10 | 11 => self.flush(actor, dice),
            12 => self.fence(actor, dice),
            13 | 14 => self.writes(actor, dice),
            15 => self.resizes(actor, dice),
            16 | 17 => self.syncs(actor, dice),
            18 => self.moves(actor, dice),
            _ => self.others(actor, dice),
        }
    }
    pub(super) fn expect(&mut self, actor: usize, step: Step) -> Option<()> {
        self.actors[actor].steps.push(step);
        Some(())
    }
    fn stores(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let value = dice.below(1 << 40) << dice.below(24) | 1;
        let (op, width, align, numbers, whole) = match dice.below(4) {
            0 => ("vec", [8, 16, 32][dice.below(3) as usize], 1, [value % 200, 0], false),
            1 => (
                "odd",
                8,
                [1, 8][dice.below(2) as usize],
                [dice.below(8), value >> 1],
                false,
            ),
            _ => {
                let width = 1 << dice.below(4);
                let align = if dice.below(3) == 0 { 1 } else { width };
                ("st", width, align, [width, value], align == width)
            }
        };
        let (slot, at, bytes) = self.place(actor, width, align, dice)?;
        let (want, numbers) = match op {
            "vec" => (pairs(&bytes, pattern(width, numbers[0])), vec![width, numbers[0], 0]),
            "odd" if numbers[0] == 1 => (pairs(&bytes, numbers[1].to_be_bytes().into_iter()), numbers.to_vec()),
            _ => (pairs(&bytes, numbers[1].to_le_bytes().into_iter()), numbers.to_vec()),
        };
        self.say(actor, op, &[&[slot, at][..], &numbers].concat());
        self.expect(
            actor,
            Step::Stores {
                want,
                nt: false,
                whole: whole || op == "odd" && align == 8,
            },
        )
    }
    fn long(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let (words, seed) = (dice.below(3) == 0, dice.below(200));
        let count = if words { 8 * dice.below(12) } else { dice.below(100) };
        let (slot, at, bytes) = self.place(actor, count, 1, dice)?;
        let want = if !words && dice.below(2) == 0 {
            self.say(actor, "set", &[slot, at, count, seed]);
            pairs(&bytes, std::iter::repeat_n(seed as u8, count as usize))
        } else {
            self.say(actor, "copy", &[slot, at, count, seed, u64::from(words)]);
            pairs(&bytes, pattern(count, seed))
        };
        self.expect(
            actor,
            Step::Stores {
                want,
                nt: false,
                whole: false,
            },
        )
    }
    /// All pages that actors share get one byte, piece by piece.
    pub(super) fn sets(&mut self, actor: usize, count: u64, dice: &mut Dice) {
        let (slot, seed) = (self.actors[actor].base, dice.below(200));
        self.say(actor, "set", &[slot, 0, count, seed]);
        let want = (0..count).map(|at| ((0, at), seed as u8)).collect();
        let (nt, whole) = (false, false);
        self.actors[actor].steps.push(Step::Stores { want, nt, whole });
    }
    fn past_the_caches(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let value = dice.below(1 << 40);
        let wide = dice.below(2) == 0;
        let width = if wide { 16 << dice.below(2) } else { 4 << dice.below(2) };
        let (slot, at, bytes) = self.place(actor, width, width, dice)?;
        let want = if wide {
            let kind = if width == 32 { 1 } else { 1 + dice.below(2) };
            self.say(actor, "vec", &[slot, at, width, value % 200, kind]);
            pairs(&bytes, pattern(width, value % 200))
        } else {
            self.say(actor, "nt", &[slot, at, width, value]);
            pairs(&bytes, value.to_le_bytes().into_iter())
        };
        self.actors[actor].awaited = true;
        self.expect(
            actor,
            Step::Stores {
                want,
                nt: true,
                whole: !wide,
            },
        )
    }
    fn atomic(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let width = 4 << dice.below(2);
        let (slot, at, bytes) = self.place(actor, width, width, dice)?;
        let (value, expected) = (dice.below(1 << 30), dice.below(2));
        let (op, change) = match dice.below(5) {
            0 => ("xadd", Change::Add(value)),
            1 => ("xchg", Change::Set(value)),
            2 => ("or", Change::Or(value)),
            3 => ("inc", Change::Add(1)),
            _ => ("cas", Change::Swap(expected, value)),
        };
        self.say(actor, op, &[slot, at, width, value, expected]);
        self.actors[actor].awaited = false;
        self.expect(
            actor,
            Step::Atomic {
                at: bytes[0],
                width,
                change,
            },
        )
    }
    fn derived(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let added = 1 + dice.below(1 << 20);
        let (slot, at, to) = self.place(actor, 8, 8, dice)?;
        let (width, from) = if dice.below(2) == 0 {
            let (source, offset, from) = self.place(actor, 8, 8, dice)?;
            self.say(actor, "derive", &[source, offset, slot, at, added]);
            (8, from[0])
        } else {
            let width = 4 << dice.below(2);
            self.say(actor, "add", &[slot, at, width, added]);
            (width, to[0])
        };
        self.expect(
            actor,
            Step::Derived {
                from,
                to: to[0],
                width,
                added,
            },
        )
    }
    fn flush(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let (slot, at, bytes) = self.place(actor, 1, 1, dice)?;
        let kind = dice.below(4);
        self.say(actor, "flush", &[slot, at, kind]);
        self.actors[actor].awaited = true;
        let (file, offset) = bytes[0];
        let name = ["clflush", "clflushopt", "clwb", "clwb"][kind as usize];
        self.expect(actor, Step::Flush(name, (file, offset / 64 * 64)))
    }
    fn fence(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let kind = dice.below(3);
        self.say(actor, "fence", &[kind]);
        let awaited = std::mem::take(&mut self.actors[actor].awaited);
        match kind {
            0 => self.expect(actor, Step::Fence("sfence")),
            1 => self.expect(actor, Step::Fence("mfence")),
            _ if awaited => self.expect(actor, Step::VolatileAtomic(false)),
            _ => None,
        }
    }
}
