//! Tiny programs in the notation of the persistency shapes, and reference models that enumerate their crash states.
#![allow(dead_code)] // every test binary uses a part

pub(crate) mod agree;
pub(crate) mod any_order;
pub(crate) mod arm;
pub(crate) mod barriers;
pub(crate) mod by_value;
pub(crate) mod candidates;
pub(crate) mod px86_axioms;
pub(crate) mod px86_machine;
pub(crate) mod random;
pub(crate) mod rcbsp_order;
pub(crate) mod recoverable;
pub(crate) mod relation;
pub(crate) mod relaxed;
pub(crate) mod run;
pub(crate) mod script;
pub(crate) mod states;
pub(crate) mod strict_order;
pub(crate) mod transactional;

use fencepost_kernel::{Addr, Fence, Flush};
use std::collections::BTreeMap;

/// A location: index into [`Shape::locations`].
pub(crate) type Loc = usize;
/// A register: index local to its thread.
pub(crate) type Reg = usize;

#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Const(u64),
    Reg(Reg),
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Store {
        loc: Loc,
        value: Value,
        nt: bool,
    },
    Load {
        reg: Reg,
        loc: Loc,
    },
    /// An atomic exchange whose old value nobody uses: on x86 a locked instruction.
    Rmw {
        loc: Loc,
        value: u64,
    },
    Flush {
        loc: Loc,
        kind: Flush,
    },
    Fence(Fence),
}

/// An operation that executes only if a register has a value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Guarded {
    pub when: Option<(Reg, u64)>,
    pub op: Op,
}

/// A program of a few threads over a few locations, all 0 at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Names in alphabetical order. The first letter names the line, the second (`a`..`h`) the word in it;
    /// locations starting with `v` are volatile.
    pub locations: Vec<String>,
    pub threads: Vec<Vec<Guarded>>,
}

pub(crate) const REGS: usize = 4;

impl Shape {
    pub(crate) fn addr(&self, loc: Loc) -> Addr {
        let mut name = self.locations[loc].bytes();
        let line = u64::from(name.next().unwrap());
        let word = name.next().map_or(0, |b| u64::from(b - b'a'));
        let offset = line * 64 + word * 8;
        if self.is_volatile(loc) {
            Addr(offset)
        } else {
            Addr::pm(offset)
        }
    }
    pub(crate) fn is_volatile(&self, loc: Loc) -> bool {
        self.locations[loc].starts_with('v')
    }
    pub(crate) fn same_line(&self, a: Loc, b: Loc) -> bool {
        self.addr(a).line() == self.addr(b).line()
    }
    pub(crate) fn persistent(&self) -> impl Iterator<Item = Loc> + '_ {
        (0..self.locations.len()).filter(|l| !self.is_volatile(*l))
    }
    /// The values of the persistent locations, as the tables write them.
    pub(crate) fn show(&self, memory: &[u64]) -> String {
        self.persistent()
            .map(|l| char::from_digit(memory[l] as u32, 10).unwrap())
            .collect()
    }

    /// Reads the notation of the tables: threads separated by `//`, operations by `;`, `r` and `s` are registers.
    pub(crate) fn parse(text: &str) -> Shape {
        let mut names = BTreeMap::new();
        let words = text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|w| is_location(w));
        words.for_each(|w| {
            names.insert(w.to_owned(), 0);
        });
        names.values_mut().enumerate().for_each(|(i, v)| *v = i);
        let threads = text.split("//").map(|t| parse_thread(t, &names)).collect();
        Shape {
            locations: names.into_keys().collect(),
            threads,
        }
    }
}

const KEYWORDS: [&str; 14] = [
    "if", "nt", "lock", "clwb", "clflush", "sfence", "mfence", "mf", "dmb", "dsb", "PB", "NS", "pcommit", "fence",
];

fn register(word: &str) -> Option<Reg> {
    ["r", "s", "p", "q"].iter().position(|r| *r == word)
}
fn is_location(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase()) && !KEYWORDS.contains(&word) && register(word).is_none()
}

fn parse_thread(text: &str, names: &BTreeMap<String, Loc>) -> Vec<Guarded> {
    let ops = text.split(';').map(str::trim).filter(|t| !t.is_empty());
    ops.flat_map(|t| {
        let (when, rest) = match t.strip_prefix("if ") {
            None => (None, t),
            Some(rest) => {
                let (condition, rest) = rest.split_once(' ').unwrap();
                let (reg, value) = condition.split_once('=').unwrap_or((condition, "1"));
                (Some((register(reg).unwrap(), value.parse().unwrap())), rest)
            }
        };
        parse_op(rest.trim_matches(['{', '}']), names)
            .into_iter()
            .map(move |op| Guarded { when, op })
    })
    .collect()
}

fn parse_op(text: &str, names: &BTreeMap<String, Loc>) -> Vec<Op> {
    let fence = |f| vec![Op::Fence(f)];
    let (head, rest) = text.split_once(' ').unwrap_or((text, ""));
    let assign = |t: &str, nt: bool| {
        let (left, right) = t.split_once('=').unwrap_or_else(|| panic!("not an operation: {t}"));
        match register(left) {
            Some(reg) => Op::Load { reg, loc: names[right] },
            None => {
                let value = register(right).map_or_else(|| Value::Const(right.parse().unwrap()), Value::Reg);
                Op::Store {
                    loc: names[left],
                    value,
                    nt,
                }
            }
        }
    };
    match head {
        "nt" => vec![assign(rest, true)],
        "clwb" => vec![Op::Flush {
            loc: names[rest],
            kind: Flush::Clwb,
        }],
        "clflush" => vec![Op::Flush {
            loc: names[rest],
            kind: Flush::Clflush,
        }],
        "lock" => match assign(rest, false) {
            Op::Store {
                loc,
                value: Value::Const(value),
                ..
            } => vec![Op::Rmw { loc, value }],
            _ => panic!("lock takes a constant"),
        },
        "sfence" => fence(Fence::Sfence),
        "mfence" | "mf" | "fence" => fence(Fence::Mfence),
        "dmb" => fence(Fence::Dmb),
        "dsb" => fence(Fence::Dsb),
        "pcommit" => fence(Fence::Pcommit),
        "PB" => fence(Fence::PersistBarrier),
        "NS" => fence(Fence::NewStrand),
        _ => vec![assign(text, false)],
    }
}
