//! A random execution as text: in our words, in those of pmemcheck, and the memory before it as an image.

use super::audit::place;
use super::program::{LINE, PAGE, Program, What};
use std::fmt::Write as _;

impl Program {
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

    /// The log, with `durable` lines behind the events of their number.
    pub(super) fn text(&self, durable: &[(usize, String)]) -> String {
        let mut text = "fencepost-log 1\n".to_owned();
        if self.files {
            (0..self.lines.len()).for_each(|l| text.push_str(&format!("file {} {LINE} part{l}\n", l * LINE)));
        } else if self.grows {
            let end = self.data() * LINE;
            let _ = writeln!(text, "file 0 {end} data length {end:#x}");
        } else if self.apart == PAGE {
            let _ = writeln!(text, "persistent 0x100000 {}", self.lines.len() * PAGE);
        }
        for (w, value) in self.initial.iter().enumerate().filter(|(_, value)| **value != 0) {
            let at = place(w, self.apart);
            let _ = writeln!(text, "initial pm+{at:#x} {value}");
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

    /// What memory holds before it, as the bytes of an image.
    pub(super) fn image(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.lines.len() * self.apart];
        for (w, value) in self.initial.iter().enumerate() {
            let at = place(w, self.apart);
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// The log of a memory that has room for two lines more, on a page of their own where lines have pages, in a file where they have files.
    pub(super) fn longer_text(&self) -> String {
        let head = "fencepost-log 1\n";
        let text = self.text(&[]);
        let events = text.strip_prefix(head).unwrap_or(&text);
        if self.files {
            let lines = self.lines.len();
            return format!("{head}file {} {} part{lines}\n{events}", lines * LINE, 2 * LINE);
        }
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
