//! K pairs of (data, flag), each on lines of its own, and a recovery that checks them one by one.

use fencepost_contract::explore::{CrashMem, Steps};
use fencepost_contract::{Axiom, CrashSpace, FailurePoint, Grain, GraphBuilder, Write};
use fencepost_kernel::{Addr, At, CrashPoint, Flow, HwThread, Image, Mem, Violation};
use std::panic::Location;

pub(crate) fn flag(i: u64) -> Addr {
    Addr::pm(i * 128)
}
pub(crate) fn data(i: u64) -> Addr {
    Addr::pm(i * 128 + 64)
}
/// One failure point at the end; `ordered`: each flag after its data.
pub(crate) fn space(k: u64, ordered: bool) -> CrashSpace {
    let mut g = GraphBuilder::new(Image::default(), Grain::Word);
    for i in 0..k {
        let mut write = |at, value| {
            let node = g.node();
            g.write(Write {
                at,
                value,
                store: None,
                thread: HwThread(0),
                nt: false,
                source: Location::caller().into(),
            });
            node
        };
        let (d, f) = (write(data(i), 7), write(flag(i), 1));
        if ordered {
            g.edge(d, f, Axiom::FlushFence).unwrap();
        }
    }
    let graph = g.finish();
    let crash = CrashPoint {
        begun: vec![0],
        acked: vec![0],
    };
    let point = FailurePoint {
        event: 0,
        executed: graph.node_count() as u32,
        newly_must: 0..0,
        crash,
    };
    CrashSpace {
        graph,
        must: vec![],
        points: vec![point],
        node_of: vec![],
        history: Default::default(),
    }
}
pub(crate) fn check(m: &mut impl Mem<Dep = ()>, i: u64) -> Result<(), Violation> {
    if m.load(At::new(flag(i))).v == 1 && m.load(At::new(data(i))).v != 7 {
        return Err(Violation::at(flag(i), "token before value"));
    }
    Ok(())
}
type Start = fn(&CrashPoint) -> u64;
/// One pair a step.
pub(crate) fn by_steps(k: u64) -> Steps<u64, Start, impl Fn(&mut CrashMem<'_>, u64) -> Flow<u64>> {
    Steps::new((|_| 0) as Start, move |m: &mut CrashMem<'_>, i| match check(m, i) {
        Ok(()) if i + 1 == k => Flow::Done(Ok(())),
        Ok(()) => Flow::Next(i + 1),
        Err(violation) => Flow::Done(Err(violation)),
    })
}
/// A loop, with a mark each turn.
pub(crate) fn with_cuts(k: u64, marks: bool) -> impl Fn(&mut CrashMem<'_>, &CrashPoint) -> Result<(), Violation> {
    move |m, _| {
        (0..k).try_for_each(|i| {
            if marks {
                m.cut(i);
            }
            check(m, i)
        })
    }
}

/// One failure point, no order: `n` stores to lines of their own.
pub(crate) fn loose(n: u64) -> CrashSpace {
    let mut g = GraphBuilder::new(Image::default(), Grain::Word);
    for i in 0..n {
        g.node();
        g.write(Write {
            at: Addr::pm(i * 64),
            value: 1,
            store: None,
            thread: HwThread(0),
            nt: false,
            source: Location::caller().into(),
        });
    }
    let crash = CrashPoint {
        begun: vec![],
        acked: vec![],
    };
    let point = FailurePoint {
        event: 0,
        executed: n as u32,
        newly_must: 0..0,
        crash,
    };
    CrashSpace {
        graph: g.finish(),
        must: vec![],
        points: vec![point],
        node_of: vec![],
        history: Default::default(),
    }
}
