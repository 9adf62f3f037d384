//! Crash states of a program: prefixes of a simulated run's persist log, and every cut that a contract allows.

use crate::check::{Limits, Recorded, crash_points, recorded};
use crate::config::Resolved;
use crate::error::{BadInput, LabError};
use crate::host_memory::fits_host;
use crate::progress::Progress;
use crate::replay_key::{ReplayKey, grain_bytes, line_order_name};
use crate::request::Request;
use crate::simulate::{build_design, contract_of, program_of, simulate_until};
use crate::sizes::small_structures;
use crate::verdict::{self, Verdict};
use crate::witness::{Searched, Witness, cut_witness, prefix_witness};
pub use fencepost_contract::explore::Budget;
use fencepost_contract::explore::{AgainReport, CheckError, CrashCheck, PrefixReport, ProgramRun, Report};
use fencepost_contract::{Contract, ContractKind};
pub use fencepost_contract::{Grain, LineOrder};
use fencepost_designs::{DesignInfo, Environment};
use fencepost_harness::AnyProgram;
use fencepost_machine::RunReport;
use serde::Serialize;
use std::time::Instant;

/// What to explore.
#[derive(Clone, Debug, Default)]
pub struct CrashRequest {
    /// Program, threads, operations, seed; the design is ignored where a contract is given.
    pub request: Request,
    /// Contract to explore, written for in the dialect that belongs to it. `None`: the design's own, and the prefixes of
    /// a simulated run's log besides.
    pub contract: Option<String>,
    /// A number of recoveries or a time; `None` is no limit.
    pub budget: Option<String>,
    /// Thread schedules to record; `None`: several for several threads.
    pub schedules: Option<u64>,
    /// Run one in so many merged continuations nevertheless; `None`: the first few hundred of small programs.
    pub doubt: Option<u64>,
    /// Whether power also fails while recovery runs.
    pub recovery_fails: bool,
    /// Persist order within a cache line; `None`: the contract's own.
    pub line_order: Option<LineOrder>,
    /// The unit in which memory becomes durable.
    pub grain: Grain,
    /// Whether the program's structures are made small, where the request says nothing of their sizes.
    pub small: bool,
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
    /// Settings that made the program's structures small.
    pub sizes: Vec<String>,
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
    /// Distinct executions among them.
    pub executions: u64,
    /// Runs of recovery begun, those of the simulated log's prefixes included.
    pub recoveries: u64,
    /// Steps of recovery.
    pub steps: u64,
    /// Crash states covered.
    pub states_covered: u128,
    /// Crash states that the contract allows, where they could be counted.
    pub states_total: Option<u128>,
    /// Whether every one of them was covered. Never for several threads, of which only some interleavings are recorded.
    pub complete: bool,
    /// Power failures while recovery runs.
    pub during_recovery: DuringRecovery,
    /// When not complete: every state with at most this many lines deviating from all or nothing durable was covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines_deviating: Option<u32>,
    /// Clean means: of the executions recorded.
    #[serde(serialize_with = "verdict::serialize")]
    pub verdict: Verdict,
    /// A crash state that recovery does not survive.
    pub witness: Option<Witness>,
}
/// What letting power fail again while recovery runs has covered.
#[derive(Copy, Clone, Debug, Default, Serialize)]
pub struct DuringRecovery {
    /// Recoveries that were interrupted.
    pub recoveries: u64,
    /// Crash states in the middle of them.
    pub states: u128,
    /// Whether every way in which recovery was run was interrupted everywhere.
    pub complete: bool,
    /// Whether recovery flushes or fences; one that does not is taken to store durably and in order.
    pub fenced: bool,
}
impl DuringRecovery {
    /// Both of two checks.
    pub(crate) fn of(a: Option<AgainReport>, b: Option<AgainReport>) -> DuringRecovery {
        let all = [a, b].into_iter().flatten();
        let mut out = DuringRecovery {
            complete: a.is_some() || b.is_some(),
            ..DuringRecovery::default()
        };
        for r in all {
            out.recoveries += r.recoveries;
            out.states = out.states.saturating_add(r.states);
            out.complete &= r.complete;
            out.fenced |= r.fenced;
        }
        out
    }
}
impl CrashOutcome {
    /// Whether the budget was spent before recovery was run even once.
    pub fn nothing_explored(&self) -> bool {
        self.verdict == Verdict::NothingExplored
    }
    /// Whether nothing wrong was found and something was left out: crash states, or of recoveries some in which power fails again.
    pub fn leaves_out(&self) -> bool {
        let again = &self.during_recovery;
        self.bounded() || !self.violated() && again.recoveries > 0 && !again.complete
    }
    /// Whether nothing wrong was found and crash states were left out.
    pub fn bounded(&self) -> bool {
        self.verdict == Verdict::Bounded
    }
    /// Whether a crash state was found that recovery does not survive.
    pub fn violated(&self) -> bool {
        self.verdict == Verdict::Violated
    }
}

/// The design whose dialect a program is written in when only a contract is named: the one that says so
/// ([`fencepost_designs::DesignInfo::idiom_of`]), or the first that promises the contract. `None` while no such design is built.
pub fn dialect_for(contract: ContractKind) -> Option<&'static str> {
    let designs = fencepost_designs::all();
    let promises = |d: &DesignInfo| Environment::ALL.into_iter().any(|e| d.contract_of(e).kind == contract);
    let says = designs.iter().find(|d| d.idiom_of.contains(&contract));
    says.or_else(|| designs.iter().find(|d| promises(d))).map(|d| d.name)
}

/// Explores a program's crash states.
pub fn crash(c: &CrashRequest) -> Result<CrashOutcome, LabError> {
    crash_telling(c, &())
}

/// The same, and says how far the crash points of the simulated run have come.
pub fn crash_telling(c: &CrashRequest, progress: &dyn Progress) -> Result<CrashOutcome, LabError> {
    let (request, contract) = written_for(c)?;
    let (resolved, sizes) = match c.small {
        true => small_structures(&request)?,
        false => (Resolved::resolve(&request)?, Vec::new()),
    };
    resolved.judged()?;
    if resolved.is_replication() {
        let e = BadInput::new(format!(
            "`{}` on `{}` is what clients do: no program recovers",
            request.program, request.design
        ));
        return Err(e
            .hint("the replica is examined at every durable event by `run --check`")
            .into());
    }
    let kind = match contract {
        Some(kind) => kind,
        None => contract_of(&resolved),
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
        schedules: c.schedules,
        doubt: c.doubt,
        recovery_fails: c.recovery_fails,
        simulated: contract.is_none(),
    };
    fits_host(&resolved)?;
    let found = explore.run(&*program_of(&resolved)?, progress)?;
    Ok(CrashOutcome { sizes, ..found })
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
    let known = ContractKind::ALL.map(ContractKind::name);
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

/// The exploration of one program.
pub(crate) struct Explore<'a> {
    pub(crate) resolved: &'a Resolved,
    pub(crate) contract: Contract,
    pub(crate) budget: Budget,
    pub(crate) schedules: Option<u64>,
    pub(crate) doubt: Option<u64>,
    pub(crate) recovery_fails: bool,
    pub(crate) simulated: bool,
}
impl Explore<'_> {
    /// The check and the way the program is run, as replay needs them too.
    pub(crate) fn check(&self) -> (CrashCheck, ProgramRun) {
        let mut check = CrashCheck::new(self.contract);
        check.schedules = self.schedules;
        check.seed = self.resolved.request.seed;
        check.budget = self.budget;
        check.doubt = self.doubt;
        check.power_fails_again = self.recovery_fails;
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
impl Explore<'_> {
    fn run(self, program: &dyn AnyProgram, progress: &dyn Progress) -> Result<CrashOutcome, LabError> {
        let begun = Instant::now();
        let log = match self.simulated {
            true => self.prefixes(program, begun, progress)?,
            false => None,
        };
        let spent = log.as_ref().map_or(0, |l| l.0.recoveries + l.0.second);
        let (mut check, run) = self.check();
        check.budget = match check.budget {
            Budget::Unlimited => Budget::Unlimited,
            Budget::States(n) => Budget::States(n.saturating_sub(spent)),
            Budget::Time(t) => Budget::Time(t.saturating_sub(begun.elapsed())),
        };
        let report = program.crash_check(&check, run).map_err(refuse)?;
        let mut out = self.outcome(&report);
        let clean = report.verdict == Verdict::Clean;
        // Prefixes that were left out are as good as cuts that were.
        let all_prefixes = log
            .as_ref()
            .map_or(!self.simulated, |l| l.0.verdict != Verdict::Bounded);
        if clean && !all_prefixes {
            out.verdict = Verdict::Bounded;
        }
        let again = log.as_ref().and_then(|l| l.0.again);
        out.during_recovery = DuringRecovery::of(report.again, again);
        if let Some((found, report)) = &log {
            (out.log_prefixes, out.log_prefixes_total) = (found.points, crash_points(report));
            out.recoveries += spent;
            if out.nothing_explored() && found.points > 0 {
                out.verdict = Verdict::Bounded;
            }
            if let Some(b) = &found.broken {
                out.log_violations = 1;
                out.verdict = Verdict::Violated;
                out.witness
                    .get_or_insert_with(|| prefix_witness(self.resolved, b, report));
            }
        }
        Ok(out)
    }
    /// Examines the prefixes of a simulated run's log; `None`: time was up before it had finished. Half of the budget at most is
    /// for this: the contract has more to say.
    fn prefixes(
        &self,
        program: &dyn AnyProgram,
        begun: Instant,
        progress: &dyn Progress,
    ) -> Result<Option<(PrefixReport, RunReport)>, LabError> {
        let mut limits = Limits::of(self.resolved);
        match self.budget {
            Budget::Unlimited => {}
            Budget::States(n) => {
                limits.points = limits.points.min((n / 4).max(1));
                limits.second = n / 4;
            }
            Budget::Time(t) => limits.until = Some(begun + t / 2),
        }
        let design = build_design(self.resolved)?;
        let Some(s) = simulate_until(self.resolved, design, program, true, limits.until)? else {
            return Ok(None);
        };
        let oracle = program.oracle(&recorded(&s.report)?.ops, &s.report.initial);
        let run = Recorded {
            resolved: self.resolved,
            oracle: &*oracle,
            report: &s.report,
        };
        Ok(Some((run.prefixes(limits, progress)?.0, s.report)))
    }
    fn outcome(&self, r: &Report) -> CrashOutcome {
        CrashOutcome {
            program: self.resolved.request.program.clone(),
            variant: self.resolved.program.variant.name().into(),
            dialect: self.resolved.design.name.into(),
            contract: self.contract.kind.name().into(),
            line_order: line_order_name(self.contract.line_order()).into(),
            grain: grain_bytes(self.contract.params.grain),
            sizes: Vec::new(),
            threads: self.resolved.threads,
            ops: self.resolved.program.ops,
            log_prefixes: 0,
            log_prefixes_total: 0,
            log_violations: 0,
            crash_points: r.crash_points,
            schedules: r.schedules,
            executions: r.executions,
            recoveries: r.recoveries,
            steps: r.steps,
            states_covered: r.states_covered,
            states_total: r.states_total,
            complete: r.complete,
            during_recovery: DuringRecovery::default(),
            lines_deviating: r.lines_deviating.filter(|_| !r.complete),
            verdict: r.verdict,
            witness: r.witness.as_ref().map(|w| cut_witness(w, Searched::Contract)),
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
