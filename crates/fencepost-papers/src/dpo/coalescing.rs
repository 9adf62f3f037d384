//! The coalescing rule of delegated ordering (section IV-F), each of its conditions alone on the machine: a store joins the
//! youngest entry of its persist buffer only if it goes to the same line, no dependence waits in AccumDP and the entry's
//! Youngest bit is set.

use fencepost_contract::{Contract, ContractKind, Demands, conform};
use fencepost_kernel::{Addr, At, Image, Mem, Rmw, Site, Val};
use fencepost_machine::{Machine, SimMem, ThreadBody, Workload};
use fencepost_run::config::Resolved;
use fencepost_run::request::Request;

const X: Addr = Addr::pm(0);
const Y: Addr = Addr::pm(64);

/// Instructions of the sites [`SHORT`] and [`LONG`]: long enough for a miss, and for two.
const SITES: [u32; 2] = [4_000, 12_000];
const SHORT: Site = Site(0);
const LONG: Site = Site(1);

/// What stands between two stores to one line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Between {
    /// Nothing: all conditions hold.
    Nothing,
    /// A store to another line: the line's entry is no longer the youngest.
    OtherLine,
    /// A read of a line that another core has just stored to: a dependence waits in AccumDP.
    Dependence,
    /// Another core asks for the line exclusively and does not store: Youngest is cleared, and nothing else.
    Taken,
}

fn body(f: impl FnOnce(&mut SimMem<'_>) + 'static) -> ThreadBody {
    Box::new(f)
}

/// Persists that the two threads append in all. The path is so slow that no entry drains meanwhile.
fn persists(between: Between, fault: &str) -> Result<(u64, bool), String> {
    let sets = [format!("design.fault={fault}"), "design.path_slot=200us".into()];
    let request = Request {
        design: "delegated".into(),
        sets: sets.into(),
        ..Request::default()
    };
    let resolved = Resolved::resolve(&request).map_err(|e| e.to_string())?;
    let storing = body(move |m| {
        m.store(At::new(X), Val::lit(1));
        if between == Between::OtherLine {
            m.store(At::new(Y), Val::lit(1));
        }
        m.compute(LONG);
        let value = match between {
            Between::Dependence => m.load_acquire(At::new(Y)).map(|v| v + 2),
            _ => Val::lit(2),
        };
        m.store(At::new(X).field(8), value);
    });
    let other = body(move |m| {
        m.compute(SHORT);
        let cas = Rmw::Cas { expect: 9, new: 9 };
        match between {
            Between::Dependence => m.store(At::new(Y), Val::lit(1)),
            Between::Taken => {
                let _ = m.rmw(At::new(X).field(16), cas);
            }
            Between::Nothing | Between::OtherLine => {}
        }
    });
    let work = Workload {
        initial: Image::default(),
        threads: vec![storing, other],
        sites: SITES.into(),
        resident: Vec::new(),
        warm_up: 0,
        record: true,
    };
    let design = fencepost_run::simulate::build_design(&resolved).map_err(|e| e.to_string())?;
    let machine = Machine::new(&resolved.machine.spec, design, work).map_err(|e| e.to_string())?;
    let report = machine.run().map_err(|e| e.to_string())?;
    let trace = report.trace.as_ref().ok_or("the run was not recorded")?;
    let rcbsp = Contract::from(ContractKind::Rcbsp);
    let conforms = conform(trace, report.log.records(), &rcbsp, Demands { complete: true }).is_ok();
    let appended = report.log.records().len() as u64;
    Ok((appended, conforms))
}

/// Two stores to a line make one persist where all conditions hold, and two where one is missing; the planted fault that
/// forgets AccumDP makes them one there too.
pub fn three_conditions() -> Result<String, String> {
    for (between, fault, wanted) in [
        (Between::Nothing, "none", 1),
        (Between::OtherLine, "none", 3),
        (Between::Dependence, "none", 3),
        (Between::Taken, "none", 2),
        (Between::Dependence, "coalesce-with-dependences", 2),
        (Between::Taken, "coalesce-with-dependences", 2),
    ] {
        let (appended, conforms) = persists(between, fault)?;
        if appended != wanted || !conforms {
            return Err(format!(
                "{between:?} between the stores, fault {fault}: {appended} persists, expected {wanted}; conforms: {conforms}"
            ));
        }
    }
    Ok("two stores to a line join only with the same line youngest, AccumDP empty and Youngest set: 1 persist, else 2; \
        with the planted fault AccumDP is not asked"
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn every_condition_alone_keeps_the_stores_apart() {
        three_conditions().unwrap();
    }
}
