//! Judging a recorded persist log, of another simulator or of a real machine, against a contract.

use crate::error::{BadInput, LabError};
use crate::verdict::{self, Verdict};
use fencepost_contract::{Contract, ContractKind, Demands, LineOrder, Vocabulary, recorded, recorded::RecordedLog};
use fencepost_kernel::fence::Family;
use fencepost_kernel::{Fence, TraceKind};
use serde::Serialize;
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

/// The verdict on a log.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The file.
    pub file: String,
    /// The contract it was held to.
    pub contract: String,
    /// Whether it breaks the contract.
    #[serde(serialize_with = "verdict::serialize")]
    pub verdict: Verdict,
    /// Stores to persistent memory.
    pub stores: u64,
    /// Durable events.
    pub durable_events: u64,
    /// Stores that became durable by their own bytes.
    pub persisted: u64,
    /// Stores never seen in memory because a younger store to the word was written instead.
    pub coalesced: u64,
    /// Stores not durable at the end of the log.
    pub pending: u64,
    /// Promises of durability that had to hold, and did.
    pub musts: u64,
    /// Stores durable while an older store of any thread was not, as the contract permits.
    pub reordered: u64,
    /// Why the verdict says little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// What broke, in lines of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
impl Judged {
    /// Whether the log breaks the contract.
    pub fn violated(&self) -> bool {
        self.verdict == Verdict::Violated
    }
}

/// A log without a store to persistent memory has nothing to judge.
///
/// # Errors
/// It has none.
pub fn nothing_to_judge(file: &Path, log: &RecordedLog) -> Result<(), BadInput> {
    if log.persistent_stores() > 0 {
        return Ok(());
    }
    let found = format!(
        "{}: nothing to judge: the log has no store to persistent memory",
        file.display()
    );
    Err(BadInput::new(found).hint("declare it with `persistent <address> <length>`, or write pm+<offset>"))
}

/// Why a contract says little about this log: it is about instructions that the log does not have.
pub fn unused(kind: ContractKind, log: &RecordedLog) -> Option<String> {
    let any = |wanted: fn(TraceKind) -> bool| log.trace.events.iter().any(|e| wanted(e.kind));
    let flushes = any(|k| matches!(k, TraceKind::Flush { .. }));
    let fences = any(|k| matches!(k, TraceKind::Fence(_) | TraceKind::Sync { .. } | TraceKind::Rmw { .. }));
    let commands = any(|k| matches!(k, TraceKind::Fence(Fence::Pcommit) | TraceKind::Accepted { .. }));
    let orders = any(|k| matches!(k, TraceKind::Fence(f) if f.properties().family != Family::X86));
    let commits = any(|k| matches!(k, TraceKind::CommitQueue(_)));
    let transactions = any(|k| matches!(k, TraceKind::TxBegin(_)));
    let missing = match kind.row().speaks_of {
        Vocabulary::Fences if !fences => "fences",
        Vocabulary::Pcommit if !commands => "`pcommit`",
        Vocabulary::QueueCommits if !commits => "`commit-queue`",
        Vocabulary::Transactions if !transactions => "transactions",
        Vocabulary::Barriers if flushes && !orders => "fences other than those of x86",
        Vocabulary::Stores if flushes => {
            let name = kind.name();
            return Some(format!(
                "the log flushes lines, which contract `{name}` takes no notice of: it was written for another"
            ));
        }
        _ => return None,
    };
    let hint = "`crash --log L -d DESIGN` translates it first";
    let name = kind.name();
    Some(format!(
        "the log has no {missing}, and contract `{name}` is about them: it was written for another; {hint}"
    ))
}

/// Judges the log in `file`: each execution that it holds, until one breaks the contract. With `complete`, every store must be durable at its end; `line_order` overrides the contract's
/// own order within a line.
///
/// # Errors
/// A file that cannot be read, a line that cannot be understood (with its number and the reason), an unknown contract.
pub fn judge(file: &Path, contract: &str, complete: bool, line_order: Option<LineOrder>) -> Result<Judged, LabError> {
    let known = ContractKind::ALL.map(ContractKind::name);
    let kind: ContractKind = contract
        .parse()
        .map_err(|_| BadInput::unknown("contract", contract, known))?;
    let mut worst: Option<Judged> = None;
    for text in executions(file)? {
        let judged = execution(file, &text, kind, complete, line_order)?;
        let violated = judged.violated();
        worst = Some(worst.filter(|_| !violated).unwrap_or(judged));
        if violated {
            break;
        }
    }
    worst.ok_or_else(|| LabError::Internal("a log has an execution".into()))
}

/// The executions that a log holds.
fn executions(file: &Path) -> Result<Vec<String>, LabError> {
    let mut start = Vec::new();
    let opened = std::fs::File::open(file).map_err(|e| LabError::file("read", file, e))?;
    let read = opened.take(1 << 16).read_to_end(&mut start);
    read.map_err(|e| LabError::file("read", file, e))?;
    if recorded::is_pmemcheck(&String::from_utf8_lossy(&start)) {
        let found = "a store log of pmemcheck: it does not say what became durable, which is what is judged";
        let hint = "its crash states are searched by `crash --log FILE --contract px86 --recover CMD`";
        return Err(BadInput::new(format!("{}: {found}", file.display())).hint(hint).into());
    }
    let text = crate::input::read_record(file)?;
    Ok(recorded::executions(&text).into_iter().map(Cow::into_owned).collect())
}
fn bad(file: &Path, e: &recorded::LogError) -> BadInput {
    let bad = BadInput::new(format!("{}:{}: {}", file.display(), e.line, e.reason));
    e.hint.iter().fold(bad, |bad, hint| bad.hint(hint.clone()))
}

fn execution(
    file: &Path,
    text: &str,
    kind: ContractKind,
    complete: bool,
    line_order: Option<LineOrder>,
) -> Result<Judged, LabError> {
    let log = recorded::parse(text).map_err(|e| bad(file, &e))?;
    nothing_to_judge(file, &log)?;
    let mut contract = Contract::from(kind);
    contract.params.line_order = line_order;
    let found = log.conform(&contract, Demands { complete });
    let why = found.as_ref().err().map(|refusal| log.explain(refusal));
    let report = found.unwrap_or_default();
    Ok(Judged {
        file: file.to_string_lossy().into_owned(),
        contract: kind.name().into(),
        verdict: verdict::of_failure(why.is_some()),
        stores: log.persistent_stores() as u64,
        warning: unused(kind, &log),
        durable_events: log.records.len() as u64,
        persisted: report.persisted,
        coalesced: report.coalesced,
        pending: report.pending,
        musts: report.musts,
        reordered: report.reordered,
        why,
    })
}
