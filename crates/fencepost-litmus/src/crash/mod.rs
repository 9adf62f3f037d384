//! What a power failure may leave of a test, by contract.

mod axioms;
mod layout;
mod linear;
mod machine;
mod orders;
mod states;

use crate::executions::execution::Flow;
use crate::executions::models::Model;
use crate::format::condition::Atom;
use crate::format::op::Barrier;
use crate::format::test::Test;
use crate::paths::path::Path;
use crate::paths::program::{Program, ProgramError};
use fencepost_contract::{Consistency, Contract, ContractKind, ContractParams, Vocabulary};
use fencepost_kernel::Trace;
use std::collections::BTreeSet;

pub use axioms::crash_states as px86_by_axioms;
pub use layout::{Layout, Word};
pub use machine::{FinalState, Machine};
pub use orders::crash_states as strict_by_relations;

/// What a contract allows of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashOutcome {
    /// The contract.
    pub contract: ContractKind,
    /// Every crash state: values of the persistent words in alphabetical order.
    pub states: BTreeSet<Vec<u64>>,
    /// The condition of the header `Crash=`, as written; empty if there is none.
    pub condition: String,
    /// States in which the condition holds.
    pub positive: usize,
    layout: Layout,
}

impl CrashOutcome {
    /// `Never`, `Sometimes` or `Always`.
    pub fn observation(&self) -> &'static str {
        match self.positive {
            0 => "Never",
            n if n == self.states.len() => "Always",
            _ => "Sometimes",
        }
    }
    /// Every state, its values written together.
    pub fn compact(&self) -> BTreeSet<String> {
        let compact = |s: &Vec<u64>| s.iter().map(u64::to_string).collect();
        self.states.iter().map(compact).collect()
    }
    /// A state as a line of the listing.
    pub fn line(&self, test: &Test, state: &[u64]) -> String {
        let parts = self.layout.persistent().zip(state);
        let parts = parts.map(|(w, v)| format!("[{}]={};", w.name, test.locations.show(*v)));
        parts.collect::<Vec<_>>().join(" ")
    }
}

/// The model whose executions a contract is asked about.
pub fn base(contract: ContractKind, test: &Test) -> Model {
    match contract.row().consistency {
        Consistency::Sequential => Model::Sc,
        Consistency::Relaxed => Model::Armv7Mca,
        Consistency::TotalStoreOrder => Model::Tso,
        Consistency::Machine if test.arch.is_x86() => Model::Tso,
        Consistency::Machine => Model::Armv7Mca,
    }
}

/// Everything that a contract allows a power failure to leave.
///
/// # Errors
/// If there are too many executions, or the contract needs transactions, which tests do not have.
pub fn crash(program: &Program<'_>, kind: ContractKind) -> Result<CrashOutcome, ProgramError> {
    let layout = Layout::new(program);
    let states = match kind.row().speaks_of {
        Vocabulary::Transactions | Vocabulary::QueueCommits => {
            return Err(ProgramError::NoTransactions(kind.name()));
        }
        _ if kind == ContractKind::Px86 && !program.test.arch.is_x86() => axioms::crash_states(program, &layout)?,
        // Every executed store is durable: what is visible at any time.
        _ if kind == ContractKind::Eadr => orders::crash_states(program, &layout, base(kind, program.test))?,
        _ => {
            let mut found = BTreeSet::new();
            traces(program, &layout, kind, |trace, contract| {
                states::of_trace(&layout, trace, contract, &mut found);
            })?;
            found
        }
    };
    let crash = program.test.crash.as_ref();
    let holds = |state: &&Vec<u64>| {
        let value = |atom: &Atom| match atom {
            Atom::Memory(at) => layout.persistent().position(|w| w.at == *at).map_or(0, |i| state[i]),
            Atom::Register(..) => 0,
        };
        crash.is_some_and(|c| c.condition.holds(&value))
    };
    Ok(CrashOutcome {
        contract: kind,
        positive: states.iter().filter(holds).count(),
        condition: crash.map_or(String::new(), |c| c.text.clone()),
        states,
        layout,
    })
}

/// Every execution as a trace with the contract that it is judged by: those of the operational x86 machine where flushes make stores
/// durable; where consistency and fences order stores, one trace of every execution of the base model, which is enough.
///
/// # Errors
/// If there are too many, or the contract speaks of x86 and the test is of another instruction set.
pub fn traces(
    program: &Program<'_>,
    layout: &Layout,
    kind: ContractKind,
    mut visit: impl FnMut(&Trace, &Contract),
) -> Result<(), ProgramError> {
    if !kind.row().by_flush {
        return ordered(program, layout, kind, visit);
    }
    if !program.test.arch.is_x86() {
        return Err(ProgramError::OnlyX86(kind.name()));
    }
    let contract = Contract::from(kind);
    let machine = Machine::new(program, layout, contract.line_order()).visible(kind == ContractKind::Themis);
    machine.traces(|trace| visit(trace, &contract))
}

fn ordered(
    program: &Program<'_>,
    layout: &Layout,
    kind: ContractKind,
    mut visit: impl FnMut(&Trace, &Contract),
) -> Result<(), ProgramError> {
    // Persists may lag behind fences or not: the crash states are the same (Pelley et al.), and executions are complete.
    let params = ContractParams {
        buffered: Some(true),
        ..ContractParams::default()
    };
    let contract = Contract { kind, params };
    let relaxed;
    let program = if kind.row().consistency == Consistency::Relaxed {
        relaxed = without_x86(program);
        &relaxed
    } else {
        program
    };
    program.executions(base(kind, program.test), |solution| {
        if let Some(trace) = linear::trace(solution, layout) {
            visit(&trace, &contract);
        }
        Flow::Go
    })
}

/// The same program on a relaxed machine: every fence is a full one, non-temporal stores are stores.
pub fn without_x86<'t>(program: &Program<'t>) -> Program<'t> {
    let plain = |path: &Path| {
        let mut path = path.clone();
        for (_, barrier) in &mut path.fences {
            if matches!(barrier, Barrier::Sfence | Barrier::FullSync) {
                *barrier = Barrier::Full;
            }
        }
        path.events.iter_mut().for_each(|e| e.nt = false);
        path
    };
    let paths = program.paths.iter().map(|paths| paths.iter().map(plain).collect());
    Program::of_paths(program.test, paths.collect())
}
