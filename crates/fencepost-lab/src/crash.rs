//! Crash states of a program: prefixes of a simulated run's persist log, and every cut that a contract allows.

use crate::check::{contract_of, crash_points, prefixes};
use crate::config::Resolved;
use crate::error::{BadInput, LabError};
use crate::replay::ReplayKey;
use crate::request::Request;
use crate::run::simulate;
use fencepost_contract::explore::{
    BrokenPrefix, Budget, CheckError, CrashCheck, NamedStore, ProgramRun, Report, Verdict, Witness,
};
use fencepost_contract::{Contract, ContractKind};
pub use fencepost_contract::{Grain, LineOrder};
use fencepost_kernel::{Program, Trace};
use fencepost_machine::RunReport;
use fencepost_programs::Visit;
use serde::Serialize;

/// What to explore.
#[derive(Clone, Debug)]
pub struct CrashRequest {
    /// Program, threads, operations, seed; the design is ignored where a contract is given.
    pub request: Request,
    /// Contract to explore, written for in the dialect that belongs to it. `None`: the design's own, and the prefixes of
    /// a simulated run's log besides.
    pub contract: Option<String>,
    /// A number of recoveries or a time; `None` is no limit.
    pub budget: Option<String>,
    /// Thread schedules to record.
    pub schedules: u64,
    /// Persist order within a cache line; `None`: the contract's own.
    pub line_order: Option<LineOrder>,
    /// The unit in which memory becomes durable.
    pub grain: Grain,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct CrashOutcome {
    /// Program word.
    pub program: String,
    /// Variant of the program.
    pub variant: String,
    /// Design whose dialect the program was written in.
    pub dialect: String,
    /// Contract explored.
    pub contract: String,
    /// Persist order within a cache line: `fifo` or `none`.
    pub line_order: String,
    /// Bytes that become durable at once: 1, 8 or 64.
    pub grain: u32,
    /// Software threads.
    pub threads: u32,
    /// Operations per thread.
    pub ops: u32,
    /// Prefixes of the simulated durable log that were examined.
    pub log_prefixes: u64,
    /// Prefixes that the log has; the search ends at the first violation, and at 20,000.
    pub log_prefixes_total: u64,
    /// Of those examined, prefixes that recovery does not survive.
    pub log_violations: u64,
    /// Failure points of the recorded executions.
    pub crash_points: u64,
    /// Thread schedules recorded.
    pub schedules: u64,
    /// Runs of recovery begun.
    pub recoveries: u64,
    /// Steps of recovery.
    pub steps: u64,
    /// Crash states covered.
    pub states_covered: u128,
    /// Crash states that the contract allows, where they could be counted.
    pub states_total: Option<u128>,
    /// Whether every one of them was covered.
    pub complete: bool,
    /// When not complete: every state with at most this many lines deviating from all or nothing durable was covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines_deviating: Option<u32>,
    /// `clean`, `violated` or `bounded`.
    pub verdict: String,
    /// A crash state that recovery does not survive.
    pub witness: Option<CrashWitness>,
}
impl CrashOutcome {
    /// Whether a crash state was found that recovery does not survive.
    pub fn violated(&self) -> bool {
        self.verdict == "violated"
    }
}

/// A failing crash state.
#[derive(Clone, Debug, Serialize)]
pub struct CrashWitness {
    /// `contract cut` or `log prefix`.
    pub kind: String,
    /// Stores that are durable although nothing forced them; empty where the shorter list is `missing`.
    pub persisted: Vec<String>,
    /// Stores that executed and are lost.
    pub missing: Vec<String>,
    /// Lines of the program involved.
    pub source: Vec<String>,
    /// What is wrong after recovery.
    pub why: String,
    /// Argument of `fencepost replay`.
    pub replay: String,
}

/// Stores listed in a witness at most.
const SHOWN: usize = 16;

/// The design whose dialect a program is written in when only a contract is named: the idiom that the contract is about.
/// `None` while no such design is built.
pub fn dialect_for(contract: ContractKind) -> Option<&'static str> {
    use ContractKind as K;
    let wanted = match contract {
        K::Px86 | K::None | K::Eadr | K::StrictTso | K::StrictSc => "so-adr",
        K::Px86Pcommit => "so",
        K::Themis => "themis",
        K::Rcbsp | K::Epoch | K::Strand => "delegated",
        K::Loc => "loc-wal",
        K::Kiln => "kiln",
        K::Commit => "per-task-commit",
    };
    fencepost_designs::find(wanted).map(|d| d.name)
}

/// Explores a program's crash states.
pub fn crash(c: &CrashRequest) -> Result<CrashOutcome, LabError> {
    let (request, contract) = written_for(c)?;
    let resolved = Resolved::resolve(&request)?;
    let kind = match contract {
        Some(kind) => kind,
        None => contract_of(&resolved)?,
    };
    if kind.is_transactional() && resolved.dialect().logging != fencepost_kernel::Logging::Hardware {
        return Err(BadInput::new(format!(
            "contract `{kind}` needs hardware transactions, and no design here has them"
        ))
        .into());
    }
    let budget = match &c.budget {
        None => Budget::Unlimited,
        Some(text) => text
            .parse()
            .map_err(|e: fencepost_contract::explore::BadBudget| BadInput::new(e.to_string()))?,
    };
    if matches!(budget, Budget::States(0)) || matches!(budget, Budget::Time(t) if t.is_zero()) {
        return Err(BadInput::new("a budget of 0 explores nothing")
            .hint("give at least one recovery, or a time")
            .into());
    }
    let mut allowed = Contract::from(kind);
    (allowed.params.line_order, allowed.params.grain) = (c.line_order, c.grain);
    let explore = Explore {
        resolved: &resolved,
        contract: allowed,
        budget,
        schedules: c.schedules.max(1),
        simulated: contract.is_none(),
    };
    fencepost_programs::with_program(resolved.program_word(), &resolved.program, explore)
        .map_err(|e| LabError::from(BadInput::new(e.to_string())))?
}

/// The request with the design whose dialect applies, and the contract if one was named.
fn written_for(c: &CrashRequest) -> Result<(Request, Option<ContractKind>), LabError> {
    let request = Request {
        warmup: 0,
        ..c.request.clone()
    };
    let Some(word) = &c.contract else {
        return Ok((request, None));
    };
    let known = ContractKind::ALL.map(ContractKind::word);
    let kind: ContractKind = word.parse().map_err(|_| BadInput::unknown("contract", word, known))?;
    let design = dialect_for(kind).ok_or_else(|| {
        BadInput::new(format!(
            "contract `{kind}` is about instructions that no design built so far has"
        ))
    })?;
    Ok((
        Request {
            design: design.into(),
            ..request
        },
        Some(kind),
    ))
}

/// The word of a line order.
pub fn line_order_word(order: LineOrder) -> &'static str {
    match order {
        LineOrder::Fifo => "fifo",
        LineOrder::Unordered => "none",
    }
}
/// The bytes of a grain.
pub fn grain_bytes(grain: Grain) -> u32 {
    match grain {
        Grain::Byte => 1,
        Grain::Word => 8,
        Grain::Line => 64,
    }
}

/// A contract as replay ids write it: its word, and what is varied about it.
pub(crate) fn contract_text(c: &Contract) -> String {
    let mut text = c.kind.word().to_owned();
    if let Some(order) = c.params.line_order {
        text += &format!(",line-order:{}", line_order_word(order));
    }
    if c.params.grain != Grain::default() {
        text += &format!(",grain:{}", grain_bytes(c.params.grain));
    }
    text
}
/// Reads what [`contract_text`] wrote.
pub(crate) fn contract_from(text: &str) -> Result<Contract, BadInput> {
    let mut parts = text.split(',');
    let word = parts.next().unwrap_or_default();
    let known = ContractKind::ALL.map(ContractKind::word);
    let kind: ContractKind = word.parse().map_err(|_| BadInput::unknown("contract", word, known))?;
    let mut contract = Contract::from(kind);
    for part in parts {
        match part {
            "line-order:fifo" => contract.params.line_order = Some(LineOrder::Fifo),
            "line-order:none" => contract.params.line_order = Some(LineOrder::Unordered),
            "grain:1" => contract.params.grain = Grain::Byte,
            "grain:64" => contract.params.grain = Grain::Line,
            _ => return Err(BadInput::new(format!("not a replay id: unknown part `{part}`"))),
        }
    }
    Ok(contract)
}

/// The contract with this word, varied as asked for.
///
/// # Errors
/// An unknown contract.
pub fn contract_of_words(word: &str, line_order: Option<LineOrder>, grain: Grain) -> Result<Contract, BadInput> {
    let known = ContractKind::ALL.map(ContractKind::word);
    let kind: ContractKind = word.parse().map_err(|_| BadInput::unknown("contract", word, known))?;
    let mut contract = Contract::from(kind);
    (contract.params.line_order, contract.params.grain) = (line_order, grain);
    Ok(contract)
}

/// The exploration of one program.
pub(crate) struct Explore<'a> {
    pub(crate) resolved: &'a Resolved,
    pub(crate) contract: Contract,
    pub(crate) budget: Budget,
    pub(crate) schedules: u64,
    pub(crate) simulated: bool,
}
impl Explore<'_> {
    /// The check and the way the program is run, as replay needs them too.
    pub(crate) fn check(&self) -> (CrashCheck, ProgramRun) {
        let mut check = CrashCheck::new(self.contract);
        check.schedules = self.schedules;
        check.seed = self.resolved.request.seed;
        check.budget = self.budget;
        check.prefix = ReplayKey::cut(self.resolved, &self.contract).encode();
        let run = ProgramRun {
            dialect: self.resolved.dialect(),
            threads: self.resolved.threads,
            ops: self.resolved.program.ops,
            ack_every: self.resolved.request.ack_every,
        };
        (check, run)
    }
}
impl Visit for Explore<'_> {
    type Out = Result<CrashOutcome, LabError>;
    fn visit<P: Program>(self, program: P) -> Self::Out {
        let log = match self.simulated {
            true => {
                let s = simulate(self.resolved, &program, true)?;
                let found = prefixes(self.resolved, &program, &s.report)?;
                Some((found, s.report))
            }
            false => None,
        };
        let (check, run) = self.check();
        let report = check.program(&program, run).map_err(refuse)?;
        let mut out = self.outcome(&report);
        if let Some((found, report)) = &log {
            (out.log_prefixes, out.log_prefixes_total) = (found.points, crash_points(report));
            if let Some(b) = &found.broken {
                out.log_violations = 1;
                out.verdict = Verdict::Violated.to_string();
                out.witness
                    .get_or_insert_with(|| prefix_witness(self.resolved, b, report));
            }
        }
        Ok(out)
    }
}
impl Explore<'_> {
    fn outcome(&self, r: &Report) -> CrashOutcome {
        CrashOutcome {
            program: self.resolved.request.program.clone(),
            variant: self.resolved.program.variant.word().into(),
            dialect: self.resolved.design.name.into(),
            contract: self.contract.kind.word().into(),
            line_order: line_order_word(self.contract.line_order()).into(),
            grain: grain_bytes(self.contract.params.grain),
            threads: self.resolved.threads,
            ops: self.resolved.program.ops,
            log_prefixes: 0,
            log_prefixes_total: 0,
            log_violations: 0,
            crash_points: r.crash_points,
            schedules: r.schedules,
            recoveries: r.recoveries,
            steps: r.steps,
            states_covered: r.states_covered,
            states_total: r.states_total,
            complete: r.complete,
            lines_deviating: r.lines_deviating.filter(|_| !r.complete),
            verdict: r.verdict.to_string(),
            witness: r.witness.as_ref().map(cut_witness),
        }
    }
}

/// Errors of the explorer: a deadlocked program or an unusable id is the user's, unsound merging is ours.
pub(crate) fn refuse(e: CheckError) -> LabError {
    match e {
        CheckError::Record(_) | CheckError::Replay(_) => BadInput::new(e.to_string()).into(),
        CheckError::Explore(_) => LabError::Internal(e.to_string()),
    }
}

/// A witness of the explorer, as results print it.
pub fn cut_witness(w: &Witness) -> CrashWitness {
    let list = |stores: &[NamedStore]| stores.iter().take(SHOWN).map(ToString::to_string).collect();
    CrashWitness {
        kind: "contract cut".into(),
        persisted: list(&w.persisted),
        missing: list(&w.missing),
        source: lines(w.persisted.iter().chain(&w.missing).map(|s| s.source)),
        why: why(&w.why),
        replay: w.replay.clone(),
    }
}

/// A broken prefix of the log, as results print it.
pub fn prefix_witness(resolved: &Resolved, b: &BrokenPrefix, report: &RunReport) -> CrashWitness {
    let empty = Trace::default();
    let trace = report.trace.as_ref().unwrap_or(&empty);
    let stores = || {
        b.missing
            .iter()
            .filter(|s| s.index() < trace.stores.len())
            .map(|s| trace.store(*s))
    };
    let store = |s: &fencepost_kernel::StoreInfo| {
        format!(
            "{}:{}  [{}] = {:#x}  (thread {})",
            s.source.file(),
            s.source.line(),
            s.addr,
            s.value,
            s.thread.0
        )
    };
    CrashWitness {
        kind: "log prefix".into(),
        persisted: Vec::new(),
        missing: stores().take(SHOWN).map(store).collect(),
        source: lines(stores().map(|s| s.source)),
        why: why(&b.why),
        replay: ReplayKey::prefix(resolved, b.records as u64).encode(),
    }
}

fn why(v: &fencepost_kernel::Violation) -> String {
    v.at.map_or_else(|| v.why.clone(), |a| format!("{} (at {a})", v.why))
}

fn lines<'a>(places: impl Iterator<Item = &'a std::panic::Location<'a>>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for p in places {
        let line = format!("{}:{}", p.file(), p.line());
        if !out.contains(&line) && out.len() < SHOWN {
            out.push(line);
        }
    }
    out
}
