//! Lines that threads accessed before a log begins: `0 warm pm+0x0*8 0x1000`.

use super::LogError;
use super::fields::Fields;
use super::parse::Parser;
use fencepost_kernel::{HwThread, LineAddr};

/// Lines that a log may name in all: more than any cache has.
const MOST: usize = 1 << 22;

impl Parser {
    pub(super) fn warm(&mut self, thread: HwThread, f: &mut Fields<'_>) -> Result<(), LogError> {
        while let Some(word) = f.maybe() {
            let (at, count) = match word.split_once('*') {
                Some((at, count)) => (at, f.parse_number(count, "a number of lines")?),
                None => (word, 1),
            };
            let first = f.parse_address(at, &self.ranges)?.line();
            let known = self.log.warm.len();
            let fits = usize::try_from(count).is_ok_and(|n| n <= MOST - known);
            if !fits {
                return Err(f.error(format!("more than {MOST} lines, and no cache has so many")));
            }
            let last = LineAddr(first.0 + count.saturating_sub(1));
            if last.base().is_persistent() != first.base().is_persistent() {
                return Err(f.error(format!("{count} lines from {at} on end beyond memory")));
            }
            self.log
                .warm
                .extend((0..count).map(|n| (thread, LineAddr(first.0 + n))));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn lines_are_read_in_their_order_and_written_again() {
        let text = "fencepost-log 1
1 warm 0x1000*2 0x40
0 warm pm+0x7f pm+0x0*2
0 warm
0 store pm+0x0 0x1
";
        let log = parse(text).unwrap();
        let lines = |text: &str| -> Vec<(u8, String)> {
            let warm = parse(text).unwrap().warm;
            warm.iter().map(|(t, l)| (t.0, l.base().to_string())).collect()
        };
        let wanted = [
            (1, "0x1000"),
            (1, "0x1040"),
            (1, "0x40"),
            (0, "pm+0x40"),
            (0, "pm+0x0"),
            (0, "pm+0x40"),
        ];
        assert_eq!(lines(text), wanted.map(|(t, l)| (t, l.to_owned())));
        assert_eq!((log.trace.events.len(), log.trace.threads), (1, 2));
        assert!(
            log.to_text()
                .contains("\n1 warm 0x1000*2 0x40\n0 warm pm+0x40 pm+0x0*2\n"),
            "{}",
            log.to_text()
        );
        assert_eq!(lines(&log.to_text()), lines(text));
    }
    #[test]
    fn lines_that_are_too_many_or_nowhere_are_refused() {
        let why = |lines: &str| parse(&format!("fencepost-log 1\n0 warm {lines}\n")).unwrap_err().reason;
        assert!(why("pm+0*4194305").starts_with("more than"));
        assert!(why("pm+0*4194304 pm+0").starts_with("more than"));
        assert!(why("pm+0*18446744073709551615").starts_with("more than"));
        assert!(why("0xffffffffc0*2").contains("beyond"));
        assert!(why("pm+0*x").contains("a number of lines"));
        assert!(why("here").contains("an address"));
    }
}
