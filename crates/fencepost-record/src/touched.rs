//! Lines that a program accessed before its recording begins: what caches hold then.

use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Lines that are kept: as many as the caches of the largest machine hold.
const MOST: usize = 1 << 18;

/// The lines accessed last: exactly these, each with who accessed it last and when.
#[derive(Debug, Default)]
pub struct Touched {
    lines: FxHashMap<u64, (u64, u32)>,
    now: u64,
}

impl Touched {
    /// A thread accesses a line.
    pub fn note(&mut self, line: u64, thread: u32) {
        self.now += 1;
        self.lines.insert(line, (self.now, thread));
        if self.lines.len() > 2 * MOST {
            self.forget_oldest();
        }
    }
    fn forget_oldest(&mut self) {
        let mut times: Vec<u64> = self.lines.values().map(|(time, _)| *time).collect();
        let surplus = times.len().saturating_sub(MOST);
        let oldest = *times.select_nth_unstable(surplus).1;
        self.lines.retain(|_, (time, _)| *time >= oldest);
    }
    /// The lines, the one accessed last at the end, in words `THREAD PLACE*COUNT PLACE` a text line; `place` says where a line lies.
    pub fn words(mut self, place: impl Fn(u64) -> Place) -> String {
        if self.lines.len() > MOST {
            self.forget_oldest();
        }
        let mut lines: Vec<(u64, u32, Place)> = self
            .lines
            .iter()
            .map(|(line, (time, thread))| (*time, *thread, place(*line)))
            .collect();
        lines.sort_unstable_by_key(|(time, ..)| *time);
        let mut text = String::new();
        for of_thread in lines.chunk_by(|a, b| a.1 == b.1) {
            let _ = write!(text, "{}", of_thread[0].1);
            for run in of_thread.chunk_by(|a, b| a.2.is_before(b.2)) {
                let _ = match run.len() {
                    1 => write!(text, " {}", run[0].2),
                    n => write!(text, " {}*{n}", run[0].2),
                };
            }
            text.push('\n');
        }
        text
    }
}

/// Where a line lies: the number of a persistent file and its offset there, or its address in volatile memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a persistent file.
    File(usize, u64),
    /// In volatile memory.
    Volatile(u64),
}
impl Place {
    fn is_before(self, next: Place) -> bool {
        const LINE: u64 = 64;
        match (self, next) {
            (Place::File(a, at), Place::File(b, next)) => a == b && at + LINE == next,
            (Place::Volatile(at), Place::Volatile(next)) => at + LINE == next,
            _ => false,
        }
    }
}
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::File(file, offset) => write!(f, "f{file}+{offset:#x}"),
            Place::Volatile(at) => write!(f, "{at:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines from 100 on are of a file.
    fn place(line: u64) -> Place {
        match line.checked_sub(100) {
            Some(n) => Place::File(1, n * 64),
            None => Place::Volatile(line * 64),
        }
    }
    #[test]
    fn lines_are_in_the_order_of_their_last_accesses() {
        let mut touched = Touched::default();
        for (line, thread) in [(5, 0), (1, 0), (2, 0), (99, 0), (100, 0), (101, 1), (5, 1), (2, 0)] {
            touched.note(line, thread);
        }
        assert_eq!(touched.words(place), "0 0x40 0x18c0 f1+0x0\n1 f1+0x40 0x140\n0 0x80\n");
    }
    #[test]
    fn the_oldest_are_forgotten_when_there_are_too_many() {
        let mut touched = Touched::default();
        for line in 0..3 * MOST as u64 {
            touched.note(line + 1000, 3);
            touched.note(100, 2);
        }
        assert!(touched.lines.len() <= 2 * MOST);
        // What was accessed again and again, and the newest before it.
        let first = (900 + 2 * MOST as u64 + 1) * 64;
        assert_eq!(
            touched.words(place),
            format!("3 f1+{first:#x}*{}\n2 f1+0x0\n", MOST - 1)
        );
    }
}
