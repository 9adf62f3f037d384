//! What is in the caches when a run begins, and the caches that hold it: machines of one process share what was filled before.

use crate::hierarchy::{Hierarchy, WarmCaches};
use crate::spec::MachineSpec;
use fencepost_kernel::{HwThread, LineAddr, LineData};
use std::sync::{Arc, Mutex};

/// Lines that are in the caches when a run begins (functional warm-up), the one used last at the end, each with the hardware thread
/// whose core has read it. No line twice.
///
/// Copies share the lines, and the caches with these lines that a machine was given: a search over readings runs the same program
/// hundreds of times, and filling its caches took a tenth of a short run.
#[derive(Clone, Debug, Default)]
pub struct Resident(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    lines: Vec<(HwThread, LineAddr)>,
    warm: Mutex<Warm>,
}

/// Caches with the lines, from the second machine of a shape on: the first may be the only one.
#[derive(Debug, Default)]
enum Warm {
    #[default]
    Never,
    Once(Shape),
    Kept(Shape, Arc<WarmCaches>),
}

/// What of a machine decides where its caches have which lines.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape {
    /// Size and ways of the private caches and of the shared one.
    caches: [Option<(u64, u32)>; 3],
    cores: u8,
    threads_per_core: u8,
}
impl Shape {
    fn of(spec: &MachineSpec) -> Shape {
        let caches = [Some(&spec.l1), spec.l2.as_ref(), Some(&spec.llc)];
        Shape {
            caches: caches.map(|c| c.map(|c| (c.size.0, c.ways))),
            cores: spec.core.cores,
            threads_per_core: spec.core.threads_per_core,
        }
    }
}

impl Resident {
    /// Fills empty caches.
    pub(super) fn warm(&self, hier: &mut Hierarchy, spec: &MachineSpec, data: impl Fn(LineAddr) -> LineData) {
        let install = |hier: &mut Hierarchy| {
            for (hw_thread, line) in &self.0.lines {
                hier.warm(spec.core_of(*hw_thread), *line, &data);
            }
        };
        if self.0.lines.is_empty() || hier.keeps_bytes() {
            return install(hier);
        }
        let shape = Shape::of(spec);
        let mut warm = self.0.warm.lock().unwrap_or_else(|e| e.into_inner());
        let kept = match &*warm {
            Warm::Kept(of, caches) if *of == shape => Some(caches.clone()),
            _ => None,
        };
        if let Some(kept) = kept {
            drop(warm);
            return hier.warm_as(&kept);
        }
        install(hier);
        *warm = match &*warm {
            Warm::Once(of) if *of == shape => Warm::Kept(shape, Arc::new(hier.warm_caches())),
            _ => Warm::Once(shape),
        };
    }
}

impl FromIterator<(HwThread, LineAddr)> for Resident {
    fn from_iter<I: IntoIterator<Item = (HwThread, LineAddr)>>(lines: I) -> Resident {
        Resident(Arc::new(Shared {
            lines: lines.into_iter().collect(),
            warm: Mutex::default(),
        }))
    }
}
