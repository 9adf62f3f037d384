//! Runs a litmus program on the machine and lists what a power failure could leave.

use super::shape::{Location, Shape, State, Step};
use fencepost_kernel::{Addr, At, Fence, Image, Mem, Site, Stream, Val};
use fencepost_machine::{Machine, RunReport, SimMem, ThreadBody, Workload};
use fencepost_run::config::Resolved;
use std::collections::BTreeSet;

/// Instructions of the compute sites that shift threads against one another.
const DELAYS: [u32; 6] = [1, 20, 90, 300, 900, 2500];

fn body(thread: usize, steps: Vec<Step>, mut dice: Stream) -> ThreadBody {
    // Behind every location.
    let filler = At::<u32>::new(Addr::pm(0x10_0000 * (thread as u64 + 1)));
    Box::new(move |m: &mut SimMem<'_>| {
        let mut register = Val::lit(0);
        // Lines that lie in the cache beforehand, or do not.
        for loc in Location::PERSISTENT.into_iter().filter(|_| dice.chance(1, 4)) {
            let _ = m.load(At::new(loc.addr()));
        }
        // Persists that stand before the thread's own in its buffer, or none.
        for i in 0..dice.below(12).saturating_sub(5) {
            m.store(filler.field(64 * i), Val::lit(1));
        }
        for step in &steps {
            if dice.chance(1, 2) {
                m.compute(Site(dice.below(DELAYS.len() as u64) as u16));
            }
            match *step {
                Step::Store(loc, v) => m.store(At::new(loc.addr()), Val::lit(v)),
                Step::Read(loc) => register = m.load_acquire(At::new(loc.addr())),
                Step::Keep(loc) => m.store(At::new(loc.addr()), register.map(|v| v + 1)),
                Step::If(v) if register.v != v => return,
                Step::If(_) => {}
                Step::Dmb => m.fence(Fence::Dmb),
            }
        }
    })
}

/// One run of a shape.
pub fn run(shape: &Shape, resolved: &Resolved, seed: u64) -> Result<RunReport, String> {
    let threads = shape.threads.iter().enumerate();
    let threads = threads.map(|(t, steps)| body(t, steps.clone(), Stream::new(seed << 8 | t as u64, &shape.name)));
    let work = Workload {
        initial: Image::default(),
        threads: threads.collect(),
        sites: DELAYS.into(),
        resident: Vec::new(),
        warm_up: 0,
        record: true,
    };
    let design = fencepost_run::simulate::build_design(resolved).map_err(|e| e.to_string())?;
    let machine = Machine::new(&resolved.machine.spec, design, work).map_err(|e| e.to_string())?;
    machine.run().map_err(|e| format!("{}: {e}", shape.name))
}

/// What every prefix of the durable log leaves behind.
pub fn shown(report: &RunReport) -> BTreeSet<State> {
    let mut image = Image::default();
    let read = |image: &Image| Location::PERSISTENT.map(|l| image.word(l.addr()));
    let mut seen = BTreeSet::from([read(&image)]);
    for record in report.log.records() {
        image.set_line(record.line, &record.data);
        seen.insert(read(&image));
    }
    seen
}
