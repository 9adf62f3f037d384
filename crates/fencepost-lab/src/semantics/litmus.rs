//! Litmus programs on the machine of the delegated-ordering paper, as a power failure sees them: the observer is
//! recovery, and what threads read they record in persistent memory (a crash state under strict persistency is what one
//! more thread could have seen). Reads act when the timing model performs them, so outcomes are the machine's.

use super::graph::states;
use crate::config::Resolved;
use crate::request::Request;
use fencepost_contract::{Contract, ContractKind, Demands, conform};
use fencepost_kernel::{Addr, At, Fence, Image, Mem, Site, Stream, Val};
use fencepost_machine::{Machine, RunReport, SimMem, ThreadBody, Workload};
use std::collections::BTreeSet;

/// A location on a line of its own, 0 at first; `V` is volatile. With 2 KiB to a bank, `Y` and `B` share one, not `X` and `C`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Loc {
    X,
    Y,
    Z,
    A,
    B,
    C,
    D,
    V,
}
use Loc::{A, B, C, D, V, X, Y, Z};
impl Loc {
    const PERSISTENT: [Loc; 7] = [X, Y, Z, A, B, C, D];
    fn addr(self) -> Addr {
        match self {
            V => Addr(64),
            other => {
                let n = other as u64;
                Addr::pm(64 * n + (n % 3) * 0x800 + n / 3 * 0x1_0000)
            }
        }
    }
}

/// One step of a thread.
#[derive(Copy, Clone, Debug)]
enum Step {
    /// Stores a constant.
    W(Loc, u64),
    /// Reads into the thread's register.
    R(Loc),
    /// Records the register, plus one: a store that depends on the read.
    Keep(Loc),
    /// The rest only if the register has this value.
    If(u64),
    /// A full barrier.
    Dmb,
}
use Step::{Dmb, If, Keep, R, W};

/// The persistent locations' values in a crash state.
type State = [u64; 7];

/// A program, and what no power failure may leave behind.
struct Litmus {
    name: &'static str,
    threads: &'static [&'static [Step]],
    forbidden: fn(&dyn Fn(Loc) -> u64) -> bool,
}

/// Shapes with a barrier on every edge that needs one; registers are recorded as 1 + value.
const SHAPES: &[Litmus] = &[
    Litmus {
        name: "MP",
        threads: &[&[W(X, 1), Dmb, W(Y, 1)]],
        forbidden: |v| v(Y) == 1 && v(X) == 0,
    },
    Litmus {
        name: "undo log",
        threads: &[&[W(X, 1), Dmb, W(Y, 1), Dmb, W(Z, 1)]],
        forbidden: |v| (v(Y) == 1 && v(X) == 0) || (v(Z) == 1 && v(Y) == 0),
    },
    Litmus {
        name: "Figure 1 (ISA2)",
        threads: &[&[W(X, 1), Dmb, W(Y, 1)], &[R(Y), Keep(Z)]],
        forbidden: |v| v(Z) == 2 && v(X) == 0,
    },
    Litmus {
        name: "Figure 1 through volatile memory",
        threads: &[&[W(X, 1), Dmb, W(V, 1)], &[R(V), Keep(Z)]],
        forbidden: |v| v(Z) == 2 && v(X) == 0,
    },
    Litmus {
        name: "ISA2 in three hops",
        threads: &[&[W(X, 1), Dmb, W(Y, 1)], &[R(Y), Keep(Z)], &[R(Z), Keep(A)]],
        forbidden: |v| v(A) == 3 && v(X) == 0,
    },
    Litmus {
        name: "WRC",
        threads: &[&[W(X, 1)], &[R(X), Dmb, Keep(Y)], &[R(Y), Dmb, Keep(Z)]],
        forbidden: |v| (v(Y) == 2 && v(X) == 0) || (v(Z) == 3 && v(Y) == 0),
    },
    Litmus {
        name: "S",
        threads: &[
            &[W(X, 2), Dmb, W(Y, 1)],
            &[R(Y), Keep(A), Dmb, If(1), W(X, 1), Dmb, W(B, 1)],
        ],
        forbidden: |v| (v(X) == 1 && v(Y) == 0) || (v(B) == 1 && v(X) != 1),
    },
    Litmus {
        name: "SB",
        threads: &[&[W(X, 1), Dmb, R(Y), Keep(A)], &[W(Y, 1), Dmb, R(X), Keep(B)]],
        forbidden: |v| (v(A) == 1 && v(B) == 1) || (v(A) > 0 && v(X) == 0) || (v(B) > 0 && v(Y) == 0),
    },
    Litmus {
        name: "2+2W",
        threads: &[&[W(X, 1), Dmb, W(Y, 2)], &[W(Y, 1), Dmb, W(X, 2)]],
        forbidden: |v| (v(Y) == 2 && v(X) == 0) || (v(X) == 2 && v(Y) == 0),
    },
    Litmus {
        name: "LB",
        threads: &[&[R(X), Keep(A), Dmb, W(Y, 1)], &[R(Y), Keep(B), Dmb, W(X, 1)]],
        forbidden: |v| v(A) == 2 && v(B) == 2,
    },
    Litmus {
        name: "IRIW",
        threads: &[
            &[W(X, 1)],
            &[R(X), Keep(A), Dmb, R(Y), Keep(B)],
            &[W(Y, 1)],
            &[R(Y), Keep(C), Dmb, R(X), Keep(D)],
        ],
        forbidden: |v| [A, C].iter().all(|l| v(*l) == 2) && [B, D].iter().all(|l| v(*l) == 1),
    },
    Litmus {
        name: "W+RWC",
        threads: &[
            &[W(X, 1), Dmb, W(Y, 1)],
            &[R(Y), Keep(A), Dmb, R(Z), Keep(B)],
            &[W(Z, 1), Dmb, R(X), Keep(C)],
        ],
        forbidden: |v| v(A) == 2 && v(B) == 1 && v(C) == 1,
    },
    Litmus {
        name: "3.SB",
        threads: &[
            &[W(X, 1), Dmb, R(Y), Keep(A)],
            &[W(Y, 1), Dmb, R(Z), Keep(B)],
            &[W(Z, 1), Dmb, R(X), Keep(C)],
        ],
        forbidden: |v| [A, B, C].iter().all(|l| v(*l) == 1),
    },
    Litmus {
        name: "CoRR",
        threads: &[&[W(X, 1), Dmb, W(X, 2)], &[R(X), Keep(A), Dmb, R(X), Keep(B)]],
        forbidden: |v| v(A) == 3 && v(B) == 2,
    },
];

/// Instructions of the compute sites that shift threads against one another.
const DELAYS: [u32; 6] = [1, 20, 90, 300, 900, 2500];

fn body(thread: usize, steps: &'static [Step], mut dice: Stream) -> ThreadBody {
    // Behind every location.
    let filler = At::<u32>::new(Addr::pm(0x10_0000 * (thread as u64 + 1)));
    Box::new(move |m: &mut SimMem<'_>| {
        let mut register = Val::lit(0);
        // Lines that lie in the cache beforehand, or do not.
        for loc in Loc::PERSISTENT.into_iter().filter(|_| dice.chance(1, 4)) {
            let _ = m.load(At::new(loc.addr()));
        }
        // Persists that stand before the thread's own in its buffer, or none.
        for i in 0..dice.below(12).saturating_sub(5) {
            m.store(filler.field(64 * i), Val::lit(1));
        }
        for step in steps {
            if dice.chance(1, 2) {
                m.compute(Site(dice.below(DELAYS.len() as u64) as u16));
            }
            match *step {
                W(loc, v) => m.store(At::new(loc.addr()), Val::lit(v)),
                R(loc) => register = m.load_acquire(At::new(loc.addr())),
                Keep(loc) => m.store(At::new(loc.addr()), register.map(|v| v + 1)),
                If(v) if register.v != v => return,
                If(_) => {}
                Dmb => m.fence(Fence::Dmb),
            }
        }
    })
}

/// One run of a shape.
fn run(shape: &Litmus, resolved: &Resolved, seed: u64) -> Result<RunReport, String> {
    let threads = shape.threads.iter().enumerate();
    let threads = threads.map(|(t, steps)| body(t, steps, Stream::new(seed << 8 | t as u64, shape.name)));
    let work = Workload {
        initial: Image::default(),
        threads: threads.collect(),
        sites: DELAYS.into(),
        warm_up: 0,
        record: true,
    };
    let design = crate::simulate::build_design(resolved).map_err(|e| e.to_string())?;
    let machine = Machine::new(&resolved.machine.spec, design, work).map_err(|e| e.to_string())?;
    machine.run().map_err(|e| format!("{}: {e}", shape.name))
}

/// What every prefix of the durable log leaves behind.
fn shown(report: &RunReport) -> BTreeSet<State> {
    let mut image = Image::default();
    let read = |image: &Image| Loc::PERSISTENT.map(|l| image.word(l.addr()));
    let mut seen = BTreeSet::from([read(&image)]);
    for record in report.log.records() {
        image.set_line(record.line, &record.data);
        seen.insert(read(&image));
    }
    seen
}

fn is_forbidden(shape: &Litmus, state: &State) -> bool {
    (shape.forbidden)(&|loc| {
        let at = Loc::PERSISTENT.iter().position(|l| *l == loc);
        at.map_or(0, |i| state[i])
    })
}

fn on(machine: &str, design: &str, media: &str, sets: &[&str]) -> Result<Resolved, String> {
    let request = Request {
        design: design.into(),
        machine: machine.into(),
        media: Some(media.into()),
        sets: sets.iter().map(|s| (*s).to_owned()).collect(),
        ..Request::default()
    };
    Resolved::resolve(&request).map_err(|e| e.to_string())
}

fn machine(design: &str, media: &str, sets: &[&str]) -> Result<Resolved, String> {
    on(&Request::default().machine, design, media, sets)
}

/// Figure 5 of the BROI paper: `b; barrier; d` on one thread, `a; barrier; c` on the other, a and d in one line. Where the second
/// thread saw d before it wrote a, b is ordered before c. An earlier store of b's bank makes b late. The second program is without a:
/// c follows d by the read alone, and no order of writes to one line helps.
const CHAINS: [Litmus; 2] = [
    chain("Figure 5", &[D_BEHIND_B, &[R(X), If(2), W(X, 1), Dmb, W(C, 1)]]),
    chain("Figure 5, read only", &[D_BEHIND_B, &[R(X), If(2), Dmb, W(C, 1)]]),
];
const D_BEHIND_B: &[Step] = &[W(Y, 1), W(B, 1), Dmb, W(X, 2)];
const fn chain(name: &'static str, threads: &'static [&'static [Step]]) -> Litmus {
    Litmus {
        name,
        threads,
        forbidden: |v| v(C) == 1 && v(B) == 0,
    }
}
/// On the machine of the BROI paper no power failure leaves c without b, every run conforms, and with a fault planted some does not.
pub fn coherence_chain(designs: &[&str], fault: &str) -> Result<String, String> {
    let rcbsp = Contract::from(ContractKind::Rcbsp);
    let fault = format!("design.fault={fault}");
    let (mut runs, mut chained, mut convicted) = (0, 0, 0);
    for design in designs {
        let [right, faulty] = [
            on("broi", design, "broi-nvm", &[])?,
            on("broi", design, "broi-nvm", &[&fault])?,
        ];
        for (chain, seed) in CHAINS.iter().flat_map(|c| (0..40).map(move |seed| (c, seed))) {
            let judge = |resolved: &Resolved| {
                let report = run(chain, resolved, seed)?;
                let trace = report.trace.as_ref().ok_or("the run was not recorded")?;
                let conforms = conform(trace, report.log.records(), &rcbsp, Demands { complete: true }).is_ok();
                let states = shown(&report);
                let forbidden = states.iter().any(|s| is_forbidden(chain, s));
                let at = Loc::PERSISTENT.iter().position(|l| *l == C).unwrap_or(0);
                Ok::<_, String>((conforms && !forbidden, states.iter().any(|s| s[at] == 1)))
            };
            let (sound, dependent) = judge(&right)?;
            if !sound {
                return Err(format!(
                    "seed {seed} on {design} persists c before b, or does not conform"
                ));
            }
            runs += 1;
            chained += u32::from(dependent);
            convicted += u32::from(!judge(&faulty)?.0);
        }
    }
    match (chained, convicted) {
        (0, _) => Err("in no run did the second thread see d".into()),
        (_, 0) => Err(format!("`{fault}` goes unnoticed")),
        _ => Ok(format!(
            "{runs} runs, in {chained} of them a chain; never c without b; {convicted} convicted with `{fault}`"
        )),
    }
}

/// No litmus outcome that barriers forbid is ever left behind by a power failure, on any medium; every state shown is one
/// that the contract allows of that run; and with dependences between cores ignored, forbidden outcomes do appear.
pub fn no_forbidden_outcome() -> Result<String, String> {
    let rcbsp = Contract::from(ContractKind::Rcbsp);
    let (mut runs, mut states_shown, mut states_allowed) = (0, 0, 0);
    for shape in SHAPES {
        let (mut all_shown, mut all_allowed) = (BTreeSet::new(), BTreeSet::new());
        for design in ["delegated", "delegated-merge"] {
            for media in ["pcm", "ddr3-1600", "pwq"] {
                let resolved = machine(design, media, &[])?;
                for seed in 0..8 {
                    let report = run(shape, &resolved, seed)?;
                    let trace = report.trace.as_ref().ok_or("the run was not recorded")?;
                    conform(trace, report.log.records(), &rcbsp, Demands { complete: true })
                        .map_err(|e| format!("{} on {design}: {e}", shape.name))?;
                    all_shown.extend(shown(&report));
                    all_allowed.extend(states(&rcbsp, trace, Loc::PERSISTENT.map(Loc::addr)));
                    runs += 1;
                }
            }
        }
        if let Some(state) = all_shown.iter().chain(&all_allowed).find(|s| is_forbidden(shape, s)) {
            return Err(format!("{}: {state:?} is forbidden", shape.name));
        }
        if let Some(state) = all_shown.difference(&all_allowed).next() {
            return Err(format!("{}: the contract does not allow {state:?}", shape.name));
        }
        states_shown += all_shown.len();
        states_allowed += all_allowed.len();
    }
    // The clean half of what convicts the fault: the same programs, seeds and slow path.
    if let Some(shape) = broken_by("none")?.first() {
        return Err(format!("{shape}: a forbidden outcome on a slow path"));
    }
    let faulty = broken_by("drain-ignores-dependences")?;
    if faulty.is_empty() {
        return Err("ignoring dependences between cores shows no forbidden outcome".into());
    }
    Ok(format!(
        "{} shapes, {runs} runs, {states_shown} of {states_allowed} allowed crash states shown, none forbidden; \
         with dependences ignored {} break",
        SHAPES.len(),
        faulty.join(", ")
    ))
}

/// Stores to two and three lines in opposite orders, with no barrier: the epochs of all threads depend on each other.
const CROSSING: &[Litmus] = &[
    Litmus {
        name: "two lines crossing",
        threads: &[&[W(X, 1), W(Y, 1), W(Z, 1)], &[W(Y, 2), W(X, 2), W(A, 1)]],
        forbidden: |_| false,
    },
    Litmus {
        name: "three lines in a ring",
        threads: &[&[W(X, 1), W(Y, 1)], &[W(Y, 2), W(Z, 2)], &[W(Z, 3), W(X, 3)]],
        forbidden: |_| false,
    },
];

/// Threads whose epochs depend on each other drain, on every seed.
pub fn crossing_epochs_drain() -> Result<String, String> {
    const SEEDS: u64 = 60;
    let mut runs = 0;
    for design in ["delegated", "delegated-merge"] {
        let resolved = machine(design, "pcm", &["design.path_slot=2us"])?;
        for shape in CROSSING {
            for seed in 0..SEEDS {
                run(shape, &resolved, seed)?;
                runs += 1;
            }
        }
    }
    let all = 2 * CROSSING.len() as u64 * SEEDS;
    Ok(format!(
        "{runs} of {all} runs of epochs that depend on each other drained"
    ))
}

/// The shapes of which a machine with a planted fault shows a forbidden outcome.
fn broken_by(fault: &str) -> Result<Vec<&'static str>, String> {
    let fault = format!("design.fault={fault}");
    let resolved = machine("delegated", "pcm", &[&fault, "design.path_slot=200ns"])?;
    let mut broken = Vec::new();
    for shape in SHAPES {
        for seed in 0..40 {
            let states = shown(&run(shape, &resolved, seed)?);
            if states.iter().any(|s| is_forbidden(shape, s)) {
                broken.push(shape.name);
                break;
            }
        }
    }
    Ok(broken)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn forbidden_outcomes_appear_exactly_where_dependences_are_ignored() {
        assert_eq!(broken_by("none"), Ok(Vec::new()));
        let broken = broken_by("drain-ignores-dependences").unwrap();
        assert!(!broken.is_empty());
        // One thread alone has no dependences on others.
        assert!(!broken.contains(&"MP") && !broken.contains(&"undo log"), "{broken:?}");
        no_forbidden_outcome().unwrap();
    }
}
