//! The lines of a log.

use std::io::{self, Write};

/// What a thread did.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A store of `bytes` (1, 2, 4 or 8, aligned) at an offset of the persistent file.
    Store {
        /// Offset in the persistent file.
        offset: u64,
        /// What was stored.
        value: u64,
        /// How many bytes of it.
        bytes: u8,
        /// Past the caches.
        non_temporal: bool,
    },
    /// A load of the aligned word at an offset.
    Load {
        /// Offset in the persistent file.
        offset: u64,
    },
    /// An atomic that left this value in an aligned word of the persistent file.
    Atomic {
        /// Offset in the persistent file.
        offset: u64,
        /// The word afterwards.
        value: u64,
    },
    /// An atomic on volatile memory: a place where threads may have met.
    Meet {
        /// Address of the word.
        address: u64,
        /// The word afterwards.
        value: u64,
    },
    /// A flush, by its name, of the line at an offset.
    Flush(&'static str, u64),
    /// A fence, by its name.
    Fence(&'static str),
}

/// Writes a log.
#[derive(Debug)]
pub struct LogWriter<W: Write> {
    out: W,
    events: u64,
}

impl<W: Write> LogWriter<W> {
    /// Starts a log.
    ///
    /// # Errors
    /// Whatever `out` meets, here and below.
    pub fn new(mut out: W) -> io::Result<LogWriter<W>> {
        out.write_all(b"fencepost-log 1\n")?;
        Ok(LogWriter { out, events: 0 })
    }
    /// The persistent file: where it is first mapped, and what it holds.
    pub fn persistent(&mut self, start: u64, content: &[u8]) -> io::Result<()> {
        let start = start / 64 * 64;
        writeln!(self.out, "persistent {start:#x} {}", content.len().next_multiple_of(64))?;
        for (i, word) in content.chunks(8).enumerate() {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            match u64::from_le_bytes(bytes) {
                0 => {}
                value => writeln!(self.out, "initial pm+{:#x} {value:#x}", i * 8)?,
            }
        }
        Ok(())
    }
    /// Instructions that the thread executed since its last line.
    pub fn work(&mut self, thread: u32, instructions: u64) -> io::Result<()> {
        match instructions {
            0 => Ok(()),
            n => writeln!(self.out, "{thread} work {}", n.min(u64::from(u32::MAX))),
        }
    }
    /// An event, and the place in the program.
    pub fn event(&mut self, thread: u32, event: Event, place: &str) -> io::Result<()> {
        self.events += 1;
        let out = &mut self.out;
        match event {
            Event::Store {
                offset,
                value,
                bytes,
                non_temporal,
            } => {
                let what = if non_temporal { "nt" } else { "store" };
                write!(out, "{thread} {what} pm+{offset:#x} {value:#x}")?;
                if bytes < 8 {
                    write!(out, " w{bytes}")?;
                }
            }
            Event::Load { offset } => write!(out, "{thread} load pm+{:#x}", offset & !7)?,
            Event::Atomic { offset, value } => write!(out, "{thread} rmw pm+{:#x} {value:#x}", offset & !7)?,
            // The format has 40 bits for volatile addresses.
            Event::Meet { address, value } => {
                write!(out, "{thread} rmw {:#x} {value:#x}", address & 0xff_ffff_fff8)?;
            }
            Event::Flush(name, offset) => write!(out, "{thread} {name} pm+{:#x}", offset & !63)?,
            Event::Fence(name) => write!(out, "{thread} {name}")?,
        }
        match place {
            "" => writeln!(out),
            place => writeln!(out, " @ {place}"),
        }
    }
    /// Events written.
    pub fn events(&self) -> u64 {
        self.events
    }
    /// Hands everything on.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn lines_are_as_the_format_has_them() {
        let mut log = LogWriter::new(Vec::new()).unwrap();
        log.persistent(0x1040, &[0, 0, 0, 0, 0, 0, 0, 0, 5]).unwrap();
        log.work(0, 0).unwrap();
        log.work(1, 12).unwrap();
        let store = |bytes, non_temporal| Event::Store {
            offset: 0x44,
            value: 9,
            bytes,
            non_temporal,
        };
        for event in [
            store(4, false),
            store(8, true),
            Event::Load { offset: 0x49 },
            Event::Atomic { offset: 8, value: 1 },
            Event::Meet {
                address: 0x7fff_0000_0013,
                value: 2,
            },
            Event::Flush("clwb", 0x7f),
            Event::Fence("sfence"),
        ] {
            log.event(1, event, "").unwrap();
        }
        log.event(0, Event::Fence("mfence"), "a.c:7").unwrap();
        assert_eq!(log.events(), 8);
        let text = String::from_utf8(log.out).unwrap();
        let wanted = "fencepost-log 1
persistent 0x1040 64
initial pm+0x8 0x5
1 work 12
1 store pm+0x44 0x9 w4
1 nt pm+0x44 0x9
1 load pm+0x48
1 rmw pm+0x8 0x1
1 rmw 0xff00000010 0x2
1 clwb pm+0x40
1 sfence
0 mfence @ a.c:7
";
        assert_eq!(text, wanted);
    }
}
