//! A litmus test as read.

use crate::format::condition::{Atom, CrashCondition, Prop, Quantifier};
use crate::format::op::{Op, Reg};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The instruction set.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // named as in the files
pub enum Arch {
    X86,
    X86_64,
    Arm,
    AArch64,
    Ppc,
}

impl Arch {
    /// By the first word of a file.
    pub fn parse(word: &str) -> Option<Arch> {
        Some(match word {
            "X86" => Arch::X86,
            "X86_64" => Arch::X86_64,
            "ARM" => Arch::Arm,
            "AArch64" => Arch::AArch64,
            "PPC" => Arch::Ppc,
            _ => return None,
        })
    }
    /// As in the files.
    pub fn name(self) -> &'static str {
        match self {
            Arch::X86 => "X86",
            Arch::X86_64 => "X86_64",
            Arch::Arm => "ARM",
            Arch::AArch64 => "AArch64",
            Arch::Ppc => "PPC",
        }
    }
    /// Whether it is one of the x86 family.
    pub fn is_x86(self) -> bool {
        matches!(self, Arch::X86 | Arch::X86_64)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// First address of the first location; locations lie [`STRIDE`] bytes apart.
pub const BASE: u64 = 0x1000_0000;
/// Distance of two locations, in bytes: arrays must be smaller.
pub const STRIDE: u64 = 0x1_0000;
/// Flags are register 0 of each thread.
pub const FLAGS: Reg = 0;

/// The registers of one thread by canonical name, numbered as they appear. Number 0 is the flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers(Vec<String>);

impl Registers {
    /// The number of a register; a new one if it has none yet. `None` if there are too many.
    pub fn number(&mut self, name: &str) -> Option<Reg> {
        if let Some(reg) = self.find(name) {
            return Some(reg);
        }
        self.0.push(name.to_owned());
        Reg::try_from(self.0.len()).ok()
    }
    /// The number of a register, if the thread uses it.
    pub fn find(&self, name: &str) -> Option<Reg> {
        let at = self.0.iter().position(|n| n == name)?;
        Reg::try_from(at + 1).ok()
    }
    /// How many, the flags included.
    pub fn count(&self) -> usize {
        self.0.len() + 1
    }
}

/// The memory locations: names and what is known of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locations {
    names: Vec<String>,
    /// Size of an element in bytes, by location; 4 unless declared otherwise.
    element: Vec<u8>,
    /// Initial values of words that are not 0, by address.
    pub initial: BTreeMap<u64, u64>,
    /// Number of elements of each array.
    length: Vec<u64>,
}

impl Locations {
    /// The address of a location, a new one if it is not known yet.
    pub fn address(&mut self, name: &str) -> u64 {
        let at = self.names.iter().position(|n| n == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.element.push(4);
            self.length.push(1);
            self.names.len() - 1
        });
        BASE + at as u64 * STRIDE
    }
    /// The address of a location, if it is known.
    pub fn find(&self, name: &str) -> Option<u64> {
        let at = self.names.iter().position(|n| n == name)?;
        Some(BASE + at as u64 * STRIDE)
    }
    fn index(&self, address: u64) -> Option<usize> {
        let at = usize::try_from(address.checked_sub(BASE)? / STRIDE).ok()?;
        (at < self.names.len()).then_some(at)
    }
    /// Declares element size and number of elements.
    pub fn declare(&mut self, address: u64, element: u8, length: u64) {
        if let Some(at) = self.index(address) {
            (self.element[at], self.length[at]) = (element, length);
        }
    }
    /// Size of an element of the location, in bytes.
    pub fn element(&self, address: u64) -> u8 {
        self.index(address).map_or(4, |at| self.element[at])
    }
    /// Number of elements of the location.
    pub fn length(&self, address: u64) -> u64 {
        self.index(address).map_or(1, |at| self.length[at])
    }
    /// Whether an address belongs to a location.
    pub fn valid(&self, address: u64) -> bool {
        self.index(address).is_some()
    }
    /// Initial value of a word.
    pub fn initial(&self, address: u64) -> u64 {
        self.initial.get(&address).copied().unwrap_or(0)
    }
    /// The name of an address: `x`, `x[1]`, `x+2`.
    pub fn name(&self, address: u64) -> Option<String> {
        let at = self.index(address)?;
        let (name, offset) = (&self.names[at], (address - BASE) % STRIDE);
        let element = u64::from(self.element[at]);
        Some(match offset {
            0 if self.length[at] <= 1 => name.clone(),
            n if self.length[at] > 1 && n % element == 0 => format!("{name}[{}]", n / element),
            n => format!("{name}+{n}"),
        })
    }
    /// A value as people read it: an address by its name.
    pub fn show(&self, value: u64) -> String {
        match self.name(value) {
            Some(name) => name,
            None if value > i64::MAX as u64 => (value as i64).to_string(),
            None => value.to_string(),
        }
    }
    /// Every location's name, in order of appearance.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its number as written (`P0` is 0).
    pub id: usize,
    /// Its instructions as written, for display.
    pub text: Vec<String>,
    /// What they do.
    pub code: Vec<Op>,
    /// The line of `text` that each operation comes from.
    pub line: Vec<u16>,
    /// Its registers.
    pub registers: Registers,
    /// Initial values of registers.
    pub initial: Vec<(Reg, u64)>,
}

/// A litmus test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Instruction set.
    pub arch: Arch,
    /// As in the first line.
    pub name: String,
    /// `Key=value` lines between the name and the initial state.
    pub headers: Vec<(String, String)>,
    /// Memory.
    pub locations: Locations,
    /// Threads in order.
    pub threads: Vec<Thread>,
    /// `exists`, `~exists` or `forall`.
    pub quantifier: Quantifier,
    /// The final condition.
    pub condition: Prop,
    /// The same as written, with its quantifier.
    pub condition_text: String,
    /// What is asked of crash states.
    pub crash: Option<CrashCondition>,
    /// Only executions in which this holds count.
    pub filter: Option<Prop>,
    /// What the listing of states shows, each once: the condition's, then those of `locations`.
    pub shown: Vec<Atom>,
}

impl Test {
    /// Something that a condition speaks of, as states are listed: `0:EAX`, `[x]`.
    pub fn atom_name(&self, atom: &Atom) -> String {
        match atom {
            Atom::Register(thread, _, name) => format!("{}:{name}", self.threads[*thread].id),
            Atom::Memory(at) => format!("[{}]", self.locations.show(*at)),
        }
    }
    /// A state as a line of the listing.
    pub fn state_line(&self, values: &[u64]) -> String {
        let parts = self.shown.iter().zip(values);
        let parts = parts.map(|(atom, v)| format!("{}={};", self.atom_name(atom), self.locations.show(*v)));
        parts.collect::<Vec<_>>().join(" ")
    }
    /// What the headers expect of a model or contract: `Expect.tso=Never`.
    pub fn expected(&self, model: &str) -> Option<&str> {
        self.header(&format!("Expect.{model}"))
    }
    /// Whether the headers expect anything of a model or contract.
    pub fn expects(&self, model: &str) -> bool {
        self.expected(model).is_some() || self.expected_states(model).is_some()
    }
    /// Every crash state that the headers expect of a contract, the values of each written together: `States.px86=00 10 11`.
    pub fn expected_states(&self, contract: &str) -> Option<BTreeSet<String>> {
        let states = self.header(&format!("States.{contract}"))?;
        Some(states.split_whitespace().map(str::to_owned).collect())
    }
    /// The value of a header line.
    pub fn header(&self, key: &str) -> Option<&str> {
        self.headers.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }
}
