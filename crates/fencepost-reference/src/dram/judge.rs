//! Every command against those before it.

use super::bank::Banks;
use super::command::{Command, Kind};
use super::rules::{RULES, Scope};
use super::table::Table;
use std::collections::BTreeMap;
use std::fmt;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: &'static str,
    /// The command that breaks it, by its place in the list.
    pub command: usize,
    /// The earlier command that it is too close to, if there is one.
    pub after: Option<usize>,
    /// What is wrong.
    pub why: String,
}
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.why)
    }
}

/// How close a rule came to being broken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Tightest {
    /// Times it was asked.
    pub asked: u64,
    /// The least time that lay beyond what it asks for, in picoseconds.
    pub spare: u64,
}

/// The verdict on a list of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Commands.
    pub commands: usize,
    /// Broken rules, in the order of commands; the first [`Judged::KEPT`].
    pub violations: Vec<Violation>,
    /// All broken rules.
    pub broken: u64,
    /// By rule.
    pub tightest: BTreeMap<&'static str, Tightest>,
}
impl Judged {
    /// Violations that are kept.
    pub const KEPT: usize = 20;

    fn found(&mut self, rule: &'static str, command: usize, after: Option<usize>, why: String) {
        self.broken += 1;
        if self.violations.len() < Judged::KEPT {
            self.violations.push(Violation {
                rule,
                command,
                after,
                why,
            });
        }
    }
    /// A command at `now` that may come at `least` at the soonest.
    fn not_before(&mut self, rule: &'static str, (now, command): (u64, usize), (least, after): (u64, Option<usize>)) {
        match now.checked_sub(least) {
            Some(spare) => {
                let seen = self.tightest.entry(rule).or_insert(Tightest { asked: 0, spare });
                seen.asked += 1;
                seen.spare = seen.spare.min(spare);
            }
            None => {
                let why = format!("{} ps too early", least - now);
                self.found(rule, command, after, why);
            }
        }
    }
}

/// When a command was, and which.
type Seen = Option<(u64, usize)>;

struct Transfer {
    end: u64,
    reads: bool,
    rank: u16,
    command: usize,
}

struct Channel {
    /// By rule, then by bank, bank group or rank: the last command that it looks at.
    last: Vec<Vec<Seen>>,
    bus: Option<(u64, usize)>,
    data: Option<Transfer>,
    banks: Banks,
    /// When rows were opened, by bank; the last four, by rank.
    opened: Vec<u64>,
    activates: Vec<Vec<(u64, usize)>>,
    /// Refreshes, by rank.
    refreshes: Vec<u64>,
}

/// Judges commands, in the order in which they were sent.
pub fn judge(t: &Table, commands: &[Command]) -> Judged {
    let mut judged = Judged {
        commands: commands.len(),
        ..Judged::default()
    };
    let mut channels: BTreeMap<u16, Channel> = BTreeMap::new();
    for (i, c) in commands.iter().enumerate() {
        let g = t.geometry;
        if c.channel >= g.channels || c.rank >= g.ranks || c.group >= g.groups || c.bank >= g.banks {
            judged.found("place", i, None, "the medium has no such bank".into());
            continue;
        }
        let channel = channels.entry(c.channel).or_insert_with(|| Channel::new(t));
        channel.take(t, c, i, &mut judged);
    }
    judged
}

impl Channel {
    fn new(t: &Table) -> Channel {
        let ranks = usize::from(t.geometry.ranks);
        let banks = ranks * t.geometry.of_rank();
        Channel {
            last: vec![vec![None; banks]; RULES.len()],
            bus: None,
            data: None,
            banks: Banks::new(t),
            opened: vec![0; banks],
            activates: vec![Vec::new(); ranks],
            refreshes: vec![0; ranks],
        }
    }
    fn take(&mut self, t: &Table, c: &Command, i: usize, judged: &mut Judged) {
        let now = c.cycle * t.tCK;
        if let Some((before, after)) = self.bus {
            judged.not_before("command bus", (now, i), (before + t.tCK, Some(after)));
        }
        self.bus = Some((now, i));
        self.distances(t, c, (now, i), judged);
        self.four_activates(t, c, (now, i), judged);
        self.data_bus(t, c, (now, i), judged);
        self.refreshed(t, c, (now, i), judged);
        for (rule, why) in self.banks.take(t, c, now, banks_of(t, c)) {
            judged.found(rule, i, None, why);
        }
        self.note(t, c, (now, i));
    }
    /// Rules about pairs.
    fn distances(&self, t: &Table, c: &Command, at: (u64, usize), judged: &mut Judged) {
        for (rule, last) in RULES.iter().zip(&self.last) {
            let gap = (rule.gap)(t);
            if gap == 0 || !(rule.to)(c.kind) {
                continue;
            }
            if let Some((before, after)) = last[units(t, c, rule.scope)].iter().flatten().max() {
                judged.not_before(rule.name, at, (before + gap, Some(*after)));
            }
        }
    }
    /// Remembers a command for the rules that look at it.
    fn note(&mut self, t: &Table, c: &Command, (now, i): (u64, usize)) {
        for (rule, last) in RULES.iter().zip(&mut self.last) {
            if (rule.from)(c.kind) {
                last[units(t, c, rule.scope)].fill(Some((now, i)));
            }
            // A bank that closes its row by itself does so as soon as it may.
            if rule.name == "tRP" && c.kind.closes_behind() {
                let bank = units(t, c, Scope::Bank).start;
                let used = if c.kind.reads() {
                    now + t.tRTP
                } else {
                    now + t.tCWL + t.tBL + t.tWR
                };
                last[bank] = Some((used.max(self.opened[bank] + t.tRAS), i));
            }
        }
        if c.kind == Kind::Activate {
            self.opened[units(t, c, Scope::Bank).start] = now;
        }
    }
    fn four_activates(&mut self, t: &Table, c: &Command, at: (u64, usize), judged: &mut Judged) {
        if c.kind != Kind::Activate || t.tFAW == 0 {
            return;
        }
        let four = &mut self.activates[usize::from(c.rank)];
        if four.len() == 4 {
            let (first, after) = four.remove(0);
            judged.not_before("tFAW", at, (first + t.tFAW, Some(after)));
        }
        four.push(at);
    }
    /// Data of two lines never meets on the bus, and the bus rests where it turns or changes ranks.
    fn data_bus(&mut self, t: &Table, c: &Command, (now, i): (u64, usize), judged: &mut Judged) {
        if !c.kind.is_column() {
            return;
        }
        let reads = c.kind.reads();
        let start = now + if reads { t.tCL } else { t.tCWL };
        if let Some(before) = &self.data {
            let (rule, rest) = match (before.reads, reads) {
                (true, false) => ("tRTW", t.tRTW),
                _ if before.rank != c.rank => ("tRTRS", t.tRTRS),
                _ => ("data bus", 0),
            };
            judged.not_before(rule, (start, i), (before.end + rest, Some(before.command)));
        }
        self.data = Some(Transfer {
            end: start + t.tBL,
            reads,
            rank: c.rank,
            command: i,
        });
    }
    /// No rank waits for more refreshes than may be put off.
    fn refreshed(&mut self, t: &Table, c: &Command, (now, i): (u64, usize), judged: &mut Judged) {
        if t.tREFI == 0 {
            return;
        }
        let rank = usize::from(c.rank);
        let owed = (now / t.tREFI).saturating_sub(self.refreshes[rank]);
        if owed > Table::PUT_OFF && c.kind != Kind::Refresh {
            judged.found(
                "tREFI",
                i,
                None,
                format!("{owed} refreshes of the rank are outstanding"),
            );
            // Said once for each that is missing.
            self.refreshes[rank] += 1;
        }
        self.refreshes[rank] += u64::from(c.kind == Kind::Refresh);
    }
}

/// Banks that a command concerns, within its channel.
fn banks_of(t: &Table, c: &Command) -> std::ops::Range<usize> {
    let of_rank = t.geometry.of_rank();
    let rank = usize::from(c.rank) * of_rank;
    if c.kind.of_rank() {
        return rank..rank + of_rank;
    }
    let bank = rank + usize::from(c.group) * usize::from(t.geometry.banks) + usize::from(c.bank);
    bank..bank + 1
}

/// Where a rule keeps what it looks at for a command.
fn units(t: &Table, c: &Command, scope: Scope) -> std::ops::Range<usize> {
    let unit = match scope {
        Scope::Bank => return banks_of(t, c),
        Scope::Group => usize::from(c.rank) * usize::from(t.geometry.groups) + usize::from(c.group),
        Scope::Rank => usize::from(c.rank),
    };
    unit..unit + 1
}
