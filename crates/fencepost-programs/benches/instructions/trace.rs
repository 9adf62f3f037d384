//! What every compute site costs, from the trace of an instruction-level tracer.

use crate::memory::{FENCE, OFFSET, START, STOP};
use fencepost_kernel::units::PM_BASE;
use fencepost_programs::{programs, sites};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

/// What was seen to end at one marker.
#[derive(Default, Clone, Copy)]
struct Seen {
    times: u64,
    instructions: u64,
}

/// What the instruction just read turned out to be.
#[derive(Copy, Clone, PartialEq)]
enum Kind {
    Plain,
    MemoryOperation,
    Marker(usize),
}

#[derive(Default)]
struct Reader {
    marks: u64,
    name: String,
    counting: bool,
    now: u64,
    seen: BTreeMap<usize, Seen>,
}

impl Reader {
    /// What an access of an instruction makes it.
    fn access(&self, addr: u64) -> Kind {
        match addr.wrapping_sub(self.marks) {
            i if i == FENCE as u64 => Kind::MemoryOperation,
            i if i < 256 => Kind::Marker(i as usize),
            // The tracer itself lies between the two memories.
            _ if (PM_BASE + OFFSET..2 * PM_BASE).contains(&addr) => Kind::MemoryOperation,
            _ if (OFFSET..OFFSET + (256 << 20)).contains(&addr) => Kind::MemoryOperation,
            _ => Kind::Plain,
        }
    }
    /// An instruction is complete.
    fn instruction(&mut self, kind: Kind) {
        match kind {
            Kind::Marker(START) => (self.counting, self.now) = (true, 0),
            Kind::Marker(STOP) => {
                self.counting = false;
                self.print();
            }
            Kind::Marker(i) if self.counting => {
                let s = self.seen.entry(i).or_default();
                s.times += 1;
                s.instructions += std::mem::take(&mut self.now);
            }
            Kind::Plain if self.counting => self.now += 1,
            _ => {}
        }
    }
    /// One line for every site of the run: how often it was met, and the mean of the instructions it stands for.
    fn print(&mut self) {
        for (site, name) in sites::NAMES {
            if let Some(s) = self.seen.get(&usize::from(site.0)) {
                println!(
                    "{},{name},{},{:.1}",
                    self.name,
                    s.times,
                    s.instructions as f64 / s.times as f64
                );
            }
        }
        self.seen.clear();
    }
}

/// Traces this program's `traced` runs, of one program or of all, and prints the table.
pub(crate) fn sites(only: Option<&str>) {
    println!("# Generated; the command is at the head of benches/instructions/main.rs. Do not edit.");
    println!("# x86-64; memory operations and markers are not counted.");
    println!("program,scheme,mode,site,times,instructions");
    let words = programs().into_iter().map(|p| p.name);
    let words = words.filter(|w| !sites::DRAWN.contains(w));
    for word in words.filter(|w| only.is_none_or(|o| o == *w)) {
        let path = std::env::temp_dir().join(format!("fencepost-trace-{word}-{}", std::process::id()));
        trace(word, &path);
        read(File::open(&path).expect("the trace is there"));
        std::fs::remove_file(&path).expect("the trace is ours");
    }
}
/// Writes the trace of a program's runs to a file. The tracer writes line by line: into a pipe, two processes would take turns at
/// every instruction, which is twenty times as slow.
fn trace(program: &str, to: &Path) {
    let status = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes", "--log-fd=1"])
        .arg(std::env::current_exe().expect("this program has a path"))
        .args(["traced", program])
        .stdout(File::create(to).expect("a temporary file"))
        .status()
        .expect("valgrind is installed");
    assert!(status.success(), "the traced program failed");
}
/// Prints what a trace says of every site.
fn read(trace: File) {
    let (mut reader, mut kind) = (Reader::default(), Kind::Plain);
    for line in BufReader::new(trace).lines() {
        let line = line.expect("the tracer's output");
        if let Some(hex) = line.strip_prefix("MARKS ") {
            reader.marks = u64::from_str_radix(hex.trim(), 16).expect("an address");
        } else if let Some(name) = line.strip_prefix("RUN ") {
            reader.name = name.trim().to_owned();
        } else if line.starts_with("I ") {
            reader.instruction(kind);
            kind = Kind::Plain;
        } else if let Some(rest) = [" S ", " L ", " M "].iter().find_map(|p| line.strip_prefix(p)) {
            let addr = rest
                .split(',')
                .next()
                .and_then(|a| u64::from_str_radix(a.trim(), 16).ok());
            match addr.map(|a| reader.access(a)) {
                Some(Kind::Plain) | None => {}
                Some(other) => kind = other,
            }
        }
    }
}
