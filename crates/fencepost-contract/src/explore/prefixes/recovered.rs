//! What a design's hardware leaves of a memory before software recovers.

use fencepost_kernel::{Image, LineAddr};

/// What hardware recovery leaves of a memory.
pub struct Recovered {
    /// What it leaves undisturbed; `None` if it writes nothing.
    pub image: Option<Image>,
    /// The lines that it wrote, with repetitions; `None` where nobody says.
    lines: Option<Vec<LineAddr>>,
    /// What else it may leave if power fails again meanwhile, and how.
    pub others: Vec<(Image, String)>,
}
impl Recovered {
    /// Memory that it leaves undisturbed, and the lines that it wrote there.
    pub fn of(image: Image, lines: Vec<LineAddr>) -> Recovered {
        Recovered {
            lines: Some(lines),
            ..Some(image).into()
        }
    }
    /// Memory that it leaves undisturbed of a crashed one.
    pub(super) fn memory<'a>(&'a self, crashed: &'a Image) -> &'a Image {
        self.image.as_ref().unwrap_or(crashed)
    }
}
impl From<Image> for Recovered {
    /// Hardware that nothing disturbs.
    fn from(image: Image) -> Recovered {
        Some(image).into()
    }
}
impl From<Option<Image>> for Recovered {
    /// Hardware that nothing disturbs, and that may write nothing.
    fn from(image: Option<Image>) -> Recovered {
        let lines = image.is_none().then(Vec::new);
        Recovered {
            image,
            lines,
            others: Vec::new(),
        }
    }
}

/// The memories of a series that software recovered and audited one after the other, as far as that tells how the next one differs.
#[derive(Default)]
pub(super) struct Series {
    /// The newest, if hardware wrote it, and the lines that it wrote.
    left: Option<(Image, Vec<LineAddr>)>,
    /// Lines of the crashed memory that were written since.
    written: Vec<LineAddr>,
}
impl Series {
    /// Durable events wrote these lines.
    pub(super) fn wrote(&mut self, lines: &[LineAddr]) {
        self.written.extend_from_slice(lines);
    }
    /// In which lines this memory may differ from the newest, which it is from now on; `None` if that is not known.
    pub(super) fn next(&mut self, next: &Recovered) -> Option<Vec<LineAddr>> {
        let lines = next.lines.as_ref()?;
        let mut all = std::mem::take(&mut self.written);
        all.extend(lines);
        let next = next.image.as_ref().map(|image| (image.clone(), lines.clone()));
        if let Some((_, lines)) = &self.left {
            all.extend(lines);
        }
        if let (Some((before, _)), Some((now, _))) = (&self.left, &next) {
            // Hardware writes most of what it wrote before once more.
            all.retain(|l| !before.same_line(now, *l));
        }
        self.left = next;
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::{Addr, LineData, Stream};
    use std::collections::BTreeSet;

    const LINES: u64 = 200;

    fn line(n: u64) -> LineAddr {
        LineAddr(Addr::pm(0).line().0 + n)
    }
    fn set(image: &mut Image, at: LineAddr, word: u64) {
        let (words, by) = ([word; 8], [None; 8]);
        image.set_line(at, &LineData { words, by });
    }
    /// Durable events write some lines, then hardware writes others or nothing: every line that differs from the memory before is named,
    /// and no other where hardware wrote both memories.
    #[test]
    fn lines_that_differ_from_the_memory_before_are_named() {
        let mut rng = Stream::new(3, "series");
        let (mut crashed, mut series) = (Image::default(), Series::default());
        let (mut before, mut before_left) = (Image::default(), false);
        let mut both = 0;
        for _ in 0..2000 {
            for _ in 0..rng.below(4) {
                let at = line(rng.below(LINES));
                set(&mut crashed, at, rng.below(3));
                series.wrote(&[at]);
            }
            let left: Recovered = match rng.below(4) {
                0 => None.into(),
                1 => crashed.clone().into(),
                _ => {
                    let lines: Vec<LineAddr> = (0..20).map(|n| line(n * 3)).collect();
                    let mut image = crashed.clone();
                    lines.iter().for_each(|l| set(&mut image, *l, rng.below(2)));
                    Recovered::of(image, lines)
                }
            };
            let said = series.next(&left);
            // Memory of which nobody says what was written is no part of the series.
            assert_eq!(said.is_none(), left.lines.is_none());
            let Some(said) = said else { continue };
            let said: BTreeSet<LineAddr> = said.into_iter().collect();
            let now = left.memory(&crashed);
            let differs = (0..LINES).map(line).filter(|l| !now.same_line(&before, *l));
            let differs: BTreeSet<LineAddr> = differs.collect();
            assert!(said.is_superset(&differs));
            if before_left && left.image.is_some() {
                assert_eq!(said, differs);
                both += 1;
            }
            (before, before_left) = (now.clone(), left.image.is_some());
        }
        assert!(both > 300, "{both}");
    }
}
