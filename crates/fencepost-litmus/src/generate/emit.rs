//! Cycles as litmus files.

use super::cycle::{Cycle, Edge};
use super::edge::{Direction, Link};
use super::plan::{Access, Plan};
use crate::format::test::Arch;
use std::fmt::Write as _;

const LOCATIONS: [&str; 6] = ["x", "y", "z", "a", "b", "c"];

/// The skeletons that have a name in the literature, by their edges.
const FAMILIES: [(&str, &str); 23] = [
    ("PodWW Rfe PodRR Fre", "MP"),
    ("PodWR Fre PodWR Fre", "SB"),
    ("PodRW Rfe PodRW Rfe", "LB"),
    ("PodWW Rfe PodRW Coe", "S"),
    ("PodWW Coe PodWR Fre", "R"),
    ("PodWW Coe PodWW Coe", "2+2W"),
    ("Rfe PodRW Rfe PodRR Fre", "WRC"),
    ("PodWW Rfe PodRW Rfe PodRR Fre", "ISA2"),
    ("Rfe PodRR Fre PodWR Fre", "RWC"),
    ("PodWW Rfe PodRR Fre PodWR Fre", "W+RWC"),
    ("Rfe PodRW Rfe PodRW Coe", "WWC"),
    ("Rfe PodRW Coe PodWR Fre", "WRW+WR"),
    ("Rfe PodRW Coe PodWW Coe", "WRW+2W"),
    ("Rfe PodRR Fre PodWW Coe", "WRR+2W"),
    ("PodWR Fre PodWR Fre PodWR Fre", "3.SB"),
    ("PodRW Rfe PodRW Rfe PodRW Rfe", "3.LB"),
    ("PodWW Coe PodWW Coe PodWW Coe", "3.2W"),
    ("PodWW Rfe PodRW Coe PodWR Fre", "Z6.0"),
    ("PodWW Coe PodWW Rfe PodRW Coe", "Z6.1"),
    ("PodWW Rfe PodRW Rfe PodRW Coe", "Z6.2"),
    ("PodWW Coe PodWW Rfe PodRR Fre", "Z6.3"),
    ("PodWW Coe PodWR Fre PodWR Fre", "Z6.4"),
    ("PodWW Coe PodWW Coe PodWR Fre", "Z6.5"),
];

/// The edges as diy names them, program order plain.
fn edges(cycle: &Cycle) -> Vec<String> {
    let edge = |i: usize| match cycle.0[i].1 {
        Edge::Com(com) => com.name().to_owned(),
        Edge::Program(_) => format!("Pod{:?}{:?}", cycle.0[i].0, cycle.0[cycle.next(i)].0),
        Edge::Recovery => "Rec".to_owned(),
    };
    (0..cycle.0.len()).map(edge).collect()
}

/// The family of a cycle and the cycle from where the family begins.
fn family(cycle: &Cycle) -> Option<(&'static str, Cycle)> {
    let n = cycle.0.len();
    (0..n).find_map(|r| {
        let rotated = Cycle([&cycle.0[r..], &cycle.0[..r]].concat());
        let text = edges(&rotated).join(" ");
        let known = FAMILIES.iter().find(|f| f.0 == text)?;
        Some((known.1, rotated))
    })
}

/// The name of a cycle: its family, then what stands in each program order.
pub fn name(cycle: &Cycle) -> String {
    let (family, cycle) = match family(cycle) {
        Some((name, rotated)) => (name.to_owned(), rotated),
        None => (edges(cycle).join("").replace("Pod", ""), cycle.clone()),
    };
    let mut links = cycle.link_names();
    if links.len() > 1 && links.iter().all(|l| *l == links[0]) {
        links = vec![format!("{}s", links[0])];
    }
    format!("{family}+{}", links.join("+"))
}

/// A test whose condition holds exactly in executions with the cycle; `None` if the cycle needs more than two writes to a location
/// or the instruction set lacks one of its links.
pub fn emit(cycle: &Cycle, arch: Arch) -> Option<String> {
    let cycle = &family(cycle).map_or_else(|| cycle.clone(), |f| f.1);
    let plan = Plan::new(cycle)?;
    let crash = !plan.recovery.is_empty();
    let mut columns = Vec::new();
    let (mut init, mut exists) = (String::new(), Vec::new());
    for (t, accesses) in plan.threads.iter().enumerate() {
        let mut writer = Writer {
            arch,
            crash,
            thread: t,
            lines: Vec::new(),
            init: String::new(),
            exists: Vec::new(),
            // Register 0 is no base register on Power.
            next: usize::from(arch == Arch::Ppc),
            labels: 0,
        };
        writer.accesses(accesses)?;
        init.push_str(&writer.init);
        exists.extend(writer.exists);
        columns.push(writer.lines);
    }
    let mut text = format!("{} {}\n\"{}\"\n", arch.name(), name(cycle), edges(cycle).join(" "));
    if crash {
        let condition = plan.recovery.iter().map(|(l, v)| format!("[{}]={v}", LOCATIONS[*l]));
        let _ = writeln!(text, "Crash=exists ({})", condition.collect::<Vec<_>>().join(" /\\ "));
        exists.clear();
    } else {
        exists.extend(plan.last.iter().map(|(l, v)| format!("[{}]={v}", LOCATIONS[*l])));
    }
    let memory: String = LOCATIONS[..plan.locations].iter().map(|l| format!("{l}=0; ")).collect();
    let _ = writeln!(text, "{{ {memory}{init}}}");
    table(&mut text, &columns);
    let condition = if exists.is_empty() {
        "forall (true)".to_owned()
    } else {
        format!("exists ({})", exists.join(" /\\ "))
    };
    let _ = writeln!(text, "{condition}");
    Some(text)
}

fn table(text: &mut String, columns: &[Vec<String>]) {
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let head: Vec<String> = (0..columns.len()).map(|t| format!("P{t}")).collect();
    let widths: Vec<usize> = columns
        .iter()
        .map(|c| c.iter().map(String::len).max().unwrap_or(0).max(2))
        .collect();
    for row in 0..=rows {
        let cell = |t: usize| match row {
            0 => head[t].as_str(),
            n => columns[t].get(n - 1).map_or("", |c| c),
        };
        let cells: Vec<String> = (0..columns.len())
            .map(|t| format!("{:1$}", cell(t), widths[t]))
            .collect();
        let _ = writeln!(text, " {} ;", cells.join(" | "));
    }
}

/// Writes one thread.
struct Writer {
    arch: Arch,
    crash: bool,
    thread: usize,
    lines: Vec<String>,
    init: String,
    exists: Vec<String>,
    /// Next free register.
    next: usize,
    labels: usize,
}

impl Writer {
    fn accesses(&mut self, accesses: &[Access]) -> Option<()> {
        let mut before: Option<(Link, String)> = None;
        for (i, access) in accesses.iter().enumerate() {
            let release = matches!(before, Some((Link::Release, _)));
            let result = match self.arch {
                Arch::X86 | Arch::X86_64 => self.x86(access),
                _ => self.relaxed(access, before.as_ref(), release)?,
            };
            if access.direction == Direction::R {
                let whole = if self.arch == Arch::AArch64 {
                    result.replacen('W', "X", 1)
                } else {
                    result.clone()
                };
                self.exists.push(format!("{}:{whole}={}", self.thread, access.value));
                if self.crash && i + 1 < accesses.len() {
                    // Only executions in which the read returns what the cycle says go on.
                    self.lines.push(format!("CMP {result},${}", access.value));
                    self.lines.push(format!("JNE L{}", self.thread));
                    self.labels = 1;
                }
            }
            if let Some(link) = access.link {
                self.link(link, access)?;
                before = Some((link, result));
            }
        }
        if self.crash && self.labels > 0 {
            self.lines.push(format!("L{}:", self.thread));
        }
        Some(())
    }

    fn register(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn x86(&mut self, access: &Access) -> String {
        let at = LOCATIONS[access.location];
        match access.direction {
            Direction::R => {
                let n = self.register();
                let reg = ["EAX", "EBX", "ECX"][n % 3];
                self.lines.push(format!("MOV {reg},[{at}]"));
                reg.to_owned()
            }
            Direction::W if matches!(access.link, Some(Link::Nt(_))) => {
                self.lines.push(format!("MOV EDX,${}", access.value));
                self.lines.push(format!("MOVNTI [{at}],EDX"));
                String::new()
            }
            Direction::W => {
                self.lines.push(format!("MOV [{at}],${}", access.value));
                String::new()
            }
        }
    }

    /// ARM, AArch64 and Power: addresses in registers, values by way of registers.
    fn relaxed(&mut self, access: &Access, before: Option<&(Link, String)>, release: bool) -> Option<String> {
        let at = LOCATIONS[access.location];
        let base = self.register();
        let (t, arch) = (self.thread, self.arch);
        let full = |n: usize| match arch {
            Arch::AArch64 => format!("X{n}"),
            Arch::Ppc => format!("r{n}"),
            _ => format!("R{n}"),
        };
        let half = |n: usize| {
            if arch == Arch::AArch64 {
                format!("W{n}")
            } else {
                full(n)
            }
        };
        let _ = write!(self.init, "{t}:{}={at}; ", full(base));
        let (link, source) = before.map_or((Link::Po, ""), |(l, s)| (*l, s.as_str()));
        let value = self.register();
        let mut constant = true;
        let mut index = None;
        if matches!(link, Link::Addr | Link::Data) {
            let zero = half(self.register());
            match arch {
                Arch::Ppc => self.lines.push(format!("xor {zero},{source},{source}")),
                _ => self.lines.push(format!("EOR {zero},{source},{source}")),
            }
            if link == Link::Data {
                constant = false;
                let sum = format!("{},{zero}", half(value));
                match arch {
                    Arch::Ppc => self.lines.push(format!("addi {sum},{}", access.value)),
                    _ => self.lines.push(format!("ADD {sum},#{}", access.value)),
                }
            } else {
                index = Some(zero);
            }
        }
        let place = match (arch, &index) {
            (Arch::Ppc, None) => format!("0({})", full(base)),
            (Arch::Ppc, Some(zero)) => format!("{zero},{}", full(base)),
            (_, None) => format!("[{}]", full(base)),
            (Arch::AArch64, Some(zero)) => format!("[{},{zero},SXTW]", full(base)),
            (_, Some(zero)) => format!("[{zero},{}]", full(base)),
        };
        let value = half(value);
        let acquire = access.link == Some(Link::Acquire);
        // Acquiring and releasing accesses have no index.
        if (acquire || release) && index.is_some() {
            return None;
        }
        let x = if index.is_some() { "x" } else { "" };
        let instruction = match (access.direction, arch) {
            (Direction::R, Arch::Ppc) => format!("lwz{x}"),
            (Direction::W, Arch::Ppc) => format!("stw{x}"),
            (Direction::R, _) => if acquire { "LDAR" } else { "LDR" }.to_owned(),
            (Direction::W, _) => if release { "STLR" } else { "STR" }.to_owned(),
        };
        if access.direction == Direction::W && constant {
            match arch {
                Arch::Ppc => self.lines.push(format!("li {value},{}", access.value)),
                _ => self.lines.push(format!("MOV {value},#{}", access.value)),
            }
        }
        self.lines.push(format!("{instruction} {value},{place}"));
        if matches!(access.link, Some(Link::Ctrl | Link::CtrlSync)) {
            self.branch(&value);
        }
        Some(value)
    }

    /// A branch that the value decides, to the next instruction either way.
    fn branch(&mut self, value: &str) {
        let label = format!("LC{}{}", self.thread, self.labels);
        self.labels += 1;
        match self.arch {
            Arch::AArch64 => self.lines.push(format!("CBNZ {value},{label}")),
            Arch::Ppc => self
                .lines
                .extend([format!("cmpw {value},{value}"), format!("beq {label}")]),
            _ => self
                .lines
                .extend([format!("CMP {value},{value}"), format!("BNE {label}")]),
        }
        self.lines.push(format!("{label}:"));
    }

    fn link(&mut self, link: Link, access: &Access) -> Option<()> {
        let at = LOCATIONS[access.location];
        match link {
            Link::Fence(text) => self.lines.push(text.to_owned()),
            Link::Flush(flush, fence) => {
                self.lines.push(format!("{flush} [{at}]"));
                self.lines.extend(fence.map(str::to_owned));
            }
            Link::Nt(fence) => self.lines.extend(fence.map(str::to_owned)),
            Link::CtrlSync => self
                .lines
                .push(if self.arch == Arch::Ppc { "isync" } else { "ISB" }.to_owned()),
            Link::Po | Link::Addr | Link::Data | Link::Ctrl | Link::Acquire | Link::Release => {}
        }
        Some(())
    }
}
