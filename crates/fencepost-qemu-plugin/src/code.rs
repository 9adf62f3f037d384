//! Where code comes from: the file behind an address, for places in the log.

use crate::qemu;
use crate::unwind::Stacks;
use std::collections::BTreeMap;

/// Files whose code is mapped.
#[derive(Default)]
pub(crate) struct Code {
    /// By first address: end, offset in the file, which module.
    ranges: BTreeMap<u64, (u64, u64, usize)>,
    modules: Vec<String>,
    stacks: Stacks,
    /// Ranges that `stacks` knows.
    known: std::collections::BTreeSet<(u64, usize)>,
    /// Modules whose names the journal has.
    told: usize,
}

impl Code {
    /// The place of an address of code: module and offset in its file, `3+0x1234`.
    pub(crate) fn place(&mut self, at: u64) -> String {
        if self.find(at).is_none() {
            self.read();
        }
        match self.find(at) {
            Some((module, offset)) => format!("{module}+{offset:#x}"),
            None => format!("?+{at:#x}"),
        }
    }
    /// The places of a stack's frames: `3+0x1234<3+0x999<1+0x123`.
    pub(crate) fn stack(&mut self, at: u64, stack: u64, frame: u64) -> String {
        self.place(at);
        let frames = self.stacks.frames(at, stack, frame);
        let places: Vec<String> = frames.into_iter().map(|at| self.place(at)).collect();
        places.join("<")
    }
    /// Lines of the journal with the names of modules that it does not have yet.
    pub(crate) fn untold_modules(&mut self) -> String {
        let new = self.modules.iter().enumerate().skip(self.told);
        let lines = new.map(|(i, path)| format!("module {i} {path}\n")).collect();
        self.told = self.modules.len();
        lines
    }
    /// What was mapped may not be there any more.
    pub(crate) fn forget(&mut self) {
        self.ranges.clear();
    }
    /// In a forked process, which has a journal of its own.
    pub(crate) fn tell_again(&mut self) {
        self.told = 0;
    }
    fn find(&self, at: u64) -> Option<(usize, u64)> {
        let (start, (end, offset, module)) = self.ranges.range(..=at).next_back()?;
        (at < *end).then(|| (*module, offset + (at - start)))
    }
    /// QEMU maps a guest's files into its own memory.
    fn read(&mut self) {
        self.ranges.clear();
        for line in std::fs::read_to_string("/proc/self/maps").unwrap_or_default().lines() {
            let Some((start, end, offset, path)) = mapping(line) else {
                continue;
            };
            let module = self.modules.iter().position(|m| m == path).unwrap_or_else(|| {
                self.modules.push(path.to_owned());
                self.modules.len() - 1
            });
            // SAFETY: a word that QEMU sets before it runs the guest.
            let base = unsafe { qemu::guest_base };
            let start = start.wrapping_sub(base);
            let end = end.wrapping_sub(base);
            self.ranges.insert(start, (end, offset, module));
            // What this process can execute is the emulator's own code.
            let guests = !line.split(' ').nth(1).is_some_and(|access| access.contains('x'));
            let new = guests && self.known.insert((start, module));
            if new {
                self.stacks.add(path, start, end - start, offset);
            }
        }
    }
}

/// Start, end, offset and path of a mapped file.
fn mapping(line: &str) -> Option<(u64, u64, u64, &str)> {
    let path = &line[line.find('/')?..];
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let number = |t: &str| u64::from_str_radix(t, 16).ok();
    Some((number(start)?, number(end)?, number(words.nth(1)?)?, path))
}
