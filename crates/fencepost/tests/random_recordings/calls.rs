//! What an actor of a script asks of the system: writes, lengths, syncs, and what is mapped where.

use super::Dice;
use super::operations::pattern;
use super::script::{COMMON, FD, SLOT, Script, Step};
use super::spaces::{At, PAGE, Page, Slot};

impl Script {
    /// A descriptor of the actor, by its place in the list; of its own file where that is asked for.
    fn descriptor(&mut self, actor: usize, own: bool, dice: &mut Dice) -> usize {
        if self.actors[actor].fds.iter().all(|f| f.1.file == 0) {
            self.opens(actor, actor + 1, dice.below(4));
        }
        let fds = &self.actors[actor].fds;
        let good = |i: &usize| !own || fds[*i].1.file != 0;
        let all: Vec<usize> = (0..fds.len()).filter(good).collect();
        all[dice.below(all.len() as u64) as usize]
    }
    pub(super) fn writes(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let d = self.descriptor(actor, false, dice);
        let (fd, open) = self.actors[actor].fds[d].clone();
        let (count, seed) = (1 + dice.below(90), dice.below(200));
        let length = self.files[open.file].length;
        let somewhere = match open.file {
            0 => (COMMON + actor as u64) * PAGE + dice.below(PAGE - 100),
            _ => dice.below(length + 200),
        };
        let first = dice.below(count + 1);
        let from = match dice.below(4) {
            kind @ (0 | 1) => {
                let op = ["pwrite", "pwritev"][kind as usize];
                self.say(actor, op, &[fd, somewhere, count, seed, first]);
                // Linux appends whatever the offset says (pwrite(2), BUGS).
                if open.append { length } else { somewhere }
            }
            kind => {
                if !open.append {
                    self.say(actor, "seek", &[fd, somewhere]);
                    self.positions[open.position] = somewhere;
                }
                match kind {
                    2 => self.say(actor, "writev", &[fd, 0, count, seed, first]),
                    _ => self.say(actor, "write", &[fd, count, seed]),
                }
                let from = if open.append {
                    length
                } else {
                    self.positions[open.position]
                };
                self.positions[open.position] = from + count;
                from
            }
        };
        self.files[open.file].touched = true;
        self.reaches(actor, open.file, from + count);
        let want = (from..)
            .zip(pattern(count, seed))
            .map(|(at, b)| ((open.file, at), b))
            .collect();
        self.expect(actor, Step::Written(want))?;
        if open.synchronous {
            self.files[open.file].pending = false;
            self.expect(actor, Step::SyncRange((open.file, from), count))?;
        }
        Some(())
    }
    /// A file is at least so long now; what it had there before it was shorter is zero.
    fn reaches(&mut self, actor: usize, file: usize, end: u64) {
        let length = self.files[file].length;
        if end > length {
            let zeros = (length..end).map(|at| ((file, at), 0)).collect();
            let grown = [
                Step::Written(zeros),
                Step::MaySync(file, length),
                Step::Length(file, end),
            ];
            self.actors[actor].steps.extend(grown);
            self.files[file].length = end;
            self.files[file].pending = true;
        }
    }
    pub(super) fn resizes(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let d = self.descriptor(actor, true, dice);
        let (fd, open) = self.actors[actor].fds[d].clone();
        let (file, length) = (open.file, self.files[open.file].length);
        self.files[file].touched = true;
        if dice.below(2) == 0 {
            let new = match dice.below(3) {
                0 => 1 + dice.below(length),
                1 => (length - dice.below(length.min(100))).max(1),
                _ => length + dice.below(5000),
            };
            self.say(actor, "trunc", &[fd, new]);
            self.reaches(actor, file, new);
            if new < length {
                self.files[file].length = new;
                self.files[file].pending = true;
                self.expect(actor, Step::Length(file, new))?;
            }
        } else {
            let (mode, at, count) = (
                [0, 1, 3][dice.below(3) as usize],
                dice.below(length),
                1 + dice.below(300),
            );
            self.say(actor, "alloc", &[fd, mode, at, count]);
            match mode {
                0 => self.reaches(actor, file, at + count),
                3 => {
                    let zeros = (at..(at + count).min(length)).map(|at| ((file, at), 0)).collect();
                    self.expect(actor, Step::Written(zeros))?;
                }
                _ => {}
            }
        }
        Some(())
    }
    /// All of a file becomes durable, if it counts.
    fn file_durable(&mut self, actor: usize, file: usize) {
        if self.files[file].touched {
            let pages = (0..self.files[file].length.div_ceil(PAGE))
                .map(|p| (file, p * PAGE))
                .collect();
            self.files[file].pending = false;
            self.actors[actor].steps.push(Step::Sync { pages, whole: true });
        }
    }
    pub(super) fn syncs(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let d = self.descriptor(actor, false, dice);
        let (fd, open) = self.actors[actor].fds[d].clone();
        match dice.below(8) {
            op @ 0..=2 => {
                self.say(actor, ["fsync", "fdatasync", "fsync"][op as usize], &[fd]);
                self.file_durable(actor, open.file);
            }
            3 => self.say(actor, "part", &[fd]),
            // What others use is made durable by it, too, when they have come so far.
            op @ (4 | 5) if self.actors.len() == 1 => {
                self.say(actor, ["sync", "syncfs"][op as usize - 4], &[fd]);
                (0..self.files.len()).for_each(|f| self.file_durable(actor, f));
            }
            _ => return self.msync(actor, dice),
        }
        Some(())
    }
    fn msync(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let slot = self.some_slot(actor, dice).clone();
        let count = slot.pages.len() as u64;
        let from = dice.below(count);
        let pages = 1 + dice.below(count - from);
        let shown = &slot.pages[from as usize..(from + pages) as usize];
        let files = || {
            shown
                .iter()
                .filter_map(|p| if let Page::Shared(at) = p { Some(*at) } else { None })
        };
        let mut sorted: Vec<At> = files().collect();
        sorted.sort_unstable();
        if shown.contains(&Page::Gone) || sorted.windows(2).any(|w| w[0] == w[1]) {
            return None;
        }
        let durable = dice.below(4) > 0;
        // A length that ends within a page ends with it.
        self.say(
            actor,
            "msync",
            &[
                slot.number,
                from * PAGE,
                pages * PAGE - dice.below(PAGE),
                u64::from(durable),
            ],
        );
        if durable {
            sorted.iter().for_each(|(f, _)| self.files[*f].pending = false);
            self.expect(
                actor,
                Step::Sync {
                    pages: sorted,
                    whole: false,
                },
            )?;
        }
        Some(())
    }
    fn some_slot(&self, actor: usize, dice: &mut Dice) -> &Slot {
        let slots = &self.actors[actor].slots;
        &slots[dice.below(slots.len() as u64) as usize]
    }
    /// Something is mapped, over other mappings too, moved, or no longer mapped.
    pub(super) fn moves(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let d = self.descriptor(actor, false, dice);
        let file = self.actors[actor].fds[d].1.file;
        let private = file == 0 && dice.below(3) == 0;
        let all = self.files[file].length.div_ceil(PAGE);
        let offset = dice.below(all);
        let pages = 1 + dice.below(all - offset);
        if self.numbers[SLOT] > 60 {
            return None;
        }
        // The first mapping stays.
        let others = self.actors[actor].slots.len() as u64 - 1;
        let chosen = 1 + dice.below(others.max(1)) as usize;
        match dice.below(4) {
            kind if kind == 0 || others == 0 => self.maps(actor, d, file, offset * PAGE, pages * PAGE, private),
            kind => {
                let slot = self.actors[actor].slots[chosen].clone();
                if slot.number == self.actors[actor].base {
                    return None;
                }
                let first = dice.below(slot.pages.len() as u64);
                let count = pages.min(slot.pages.len() as u64 - first);
                let (from, to) = (first as usize, (first + count) as usize);
                match kind {
                    1 => {
                        let fd = self.actors[actor].fds[d].0;
                        let numbers = [
                            slot.number,
                            first * PAGE,
                            fd,
                            offset * PAGE,
                            count * PAGE,
                            u64::from(private),
                        ];
                        self.say(actor, "over", &numbers);
                        let shown = self.shown(actor, file, offset * PAGE, count * PAGE, private);
                        self.actors[actor].slots[chosen].pages[from..to].copy_from_slice(&shown);
                        self.actors[actor].slots[chosen].one_call = false;
                    }
                    2 => {
                        self.say(actor, "unmap", &[slot.number, first * PAGE, count * PAGE]);
                        self.actors[actor].slots[chosen].pages[from..to].fill(Page::Gone);
                        self.actors[actor].slots[chosen].one_call = false;
                    }
                    _ => return self.remap(actor, chosen, dice),
                }
            }
        }
        Some(())
    }
    fn remap(&mut self, actor: usize, chosen: usize, dice: &mut Dice) -> Option<()> {
        let slot = &self.actors[actor].slots[chosen];
        let Some(Page::Shared((file, offset))) = slot.pages.first().copied().filter(|_| slot.one_call) else {
            return None;
        };
        let (old, new) = (slot.pages.len() as u64, 1 + dice.below(6));
        let number = slot.number;
        self.say(actor, "remap", &[number, old * PAGE, new * PAGE]);
        let shown = self.shown(actor, file, offset, new * PAGE, false);
        self.actors[actor].slots[chosen].pages = shown;
        Some(())
    }
    /// What the system reads from a file to memory; descriptors that are copied and closed; operations that end.
    pub(super) fn others(&mut self, actor: usize, dice: &mut Dice) -> Option<()> {
        let d = self.descriptor(actor, true, dice);
        let (fd, open) = self.actors[actor].fds[d].clone();
        match dice.below(6) {
            0 if self.numbers[FD] < 60 => {
                let new = self.numbers[FD];
                self.numbers[FD] += 1;
                self.say(actor, "dup", &[fd, new]);
                self.actors[actor].fds.push((new, open));
            }
            1 if self.actors[actor].fds.len() > 3 => {
                self.say(actor, "close", &[fd]);
                self.actors[actor].fds.remove(d);
            }
            2 | 3 if self.done => {
                self.say(actor, "done", &[]);
                self.expect(actor, Step::Done)?;
            }
            4 => {
                // What is stored to a copy is not stored to the file.
                let private = |s: &&Slot| s.pages.last() == Some(&Page::Private);
                let slot = self.actors[actor].slots.iter().find(private)?;
                let (number, at) = (slot.number, (slot.pages.len() as u64 - 1) * PAGE + 8 * dice.below(500));
                self.say(actor, "st", &[number, at, 8, 1 + dice.below(1 << 40)]);
            }
            _ => {
                let count = 1 + dice.below(60).min(self.files[open.file].length - 1);
                let (slot, at, to) = self.place(actor, count, 1, dice)?;
                let offset = dice.below(self.files[open.file].length - count + 1);
                let from: Vec<At> = (offset..offset + count).map(|at| (open.file, at)).collect();
                if to.iter().any(|b| from.contains(b)) {
                    return None;
                }
                self.say(actor, "pread", &[fd, offset, slot, at, count]);
                self.expect(actor, Step::Filled { from, to })?;
            }
        }
        Some(())
    }
}
