//! Memory as a program's setup leaves it, kept for the next runs of the same program: designs and machines differ between the runs of an
//! experiment, the hundreds of megabytes that a program begins with do not. All threads of the process share it.

use crate::config::Resolved;
use crate::error::LabError;
use crate::host::available_memory;
use fencepost_harness::AnyProgram;
use fencepost_kernel::{Image, Snapshot, fault};
use std::sync::{Arc, Mutex, OnceLock};

/// Bytes of persistent memory of the programs whose first memory is kept, together, at least. It takes about as much of the host.
const KEPT: u64 = 2 << 30;

/// One part in so many of what was free on the host when the first was made may be kept, where that is more: a search over readings goes
/// back and forth between programs of several sizes, and making one anew takes seconds. A choice of ours: three parts are left to runs.
const SHARE: u64 = 4;

/// Programs whose first memory is kept, at most.
const PROGRAMS: usize = 64;

/// Made by the first thread that needs it; the others wait.
type Made = Arc<OnceLock<Result<Snapshot, String>>>;

/// The first memory of a program, by everything that it depends on.
struct Kept {
    program: String,
    bytes: u64,
    made: Made,
}

/// What is kept; what was used last stands last.
#[derive(Default)]
struct Shelf(Vec<Kept>);
impl Shelf {
    /// The place of a program's memory. What was used longest ago makes room; what alone is larger than the bound is not kept.
    fn place(&mut self, program: String, bytes: u64, bound: u64) -> Made {
        let known = self.0.iter().position(|k| k.program == program);
        let kept = match known {
            Some(at) => self.0.remove(at),
            None => Kept {
                program,
                bytes,
                made: Made::default(),
            },
        };
        let made = kept.made.clone();
        if kept.bytes > bound {
            return made;
        }
        self.0.push(kept);
        let held = |all: &[Kept]| all.iter().map(|k| k.bytes).sum::<u64>();
        while held(&self.0) > bound || self.0.len() > PROGRAMS {
            self.0.remove(0);
        }
        made
    }
}

/// Bytes that are kept on this host.
fn bound() -> u64 {
    static BOUND: OnceLock<u64> = OnceLock::new();
    *BOUND.get_or_init(|| available_memory().map_or(KEPT, |free| KEPT.max(free / SHARE)))
}

static SHELF: Mutex<Shelf> = Mutex::new(Shelf(Vec::new()));

/// Memory before the first operation of a run; `bytes` of it are persistent.
pub(super) fn initial(resolved: &Resolved, program: &dyn AnyProgram, bytes: u64) -> Result<Image, LabError> {
    // A fault that is planted for this thread may break the set-up, too.
    let faults = fault::current();
    let name = format!(
        "{} {:?} {:?}",
        resolved.program_word(),
        resolved.program.of_setup(),
        faults.names()
    );
    let mut shelf = SHELF.lock().unwrap_or_else(|e| e.into_inner());
    let made = shelf.place(name, bytes, bound());
    drop(shelf);
    let make = || program.initial().map(Image::freeze).map_err(|e| e.to_string());
    match made.get_or_init(make) {
        Ok(snapshot) => Ok(snapshot.image()),
        Err(why) => Err(LabError::Internal(why.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::find_design;
    use fencepost_harness::any_program;
    use fencepost_kernel::LineAddr;
    use fencepost_programs::{Scheme, Settings, programs};

    /// Designs differ in what they honour; what a program begins with is the same memory, whoever asked first.
    #[test]
    fn designs_share_the_first_memory_of_a_program() {
        let honours = |design| Some(find_design(design).unwrap().promise.honours);
        for about in programs() {
            let of = |honours| Settings {
                ops: 2,
                scheme: about.schemes.first().copied().unwrap_or(Scheme::UndoArray),
                params: about.small_params(),
                honours,
                ..Settings::default()
            };
            let first = |s: &Settings| any_program(about.name, s).unwrap().initial().unwrap();
            let kept = first(&of(None).of_setup());
            for own in [honours("so"), honours("themis"), honours("delegated")].map(of) {
                assert_eq!(format!("{:?}", own.of_setup()), format!("{:?}", of(None)));
                let memory = first(&own);
                let differ = |line: &LineAddr| !memory.same_line(&kept, *line);
                assert!(
                    !memory.pm_lines().chain(kept.pm_lines()).any(|l| differ(&l)),
                    "{}",
                    about.name
                );
            }
        }
    }
    #[test]
    fn what_was_used_last_is_kept_within_the_bound() {
        let mut shelf = Shelf::default();
        let mut place = |name: &str, bytes| shelf.place(name.to_owned(), bytes, 100);
        let first = place("a", 40);
        place("b", 30);
        assert!(Arc::ptr_eq(&first, &place("a", 40)), "the same until it makes room");
        // `b` was used longest ago.
        place("c", 50);
        assert!(Arc::ptr_eq(&first, &place("a", 40)));
        // More than the bound: it is not kept, and nothing makes room for it.
        let large = place("d", 101);
        assert!(!Arc::ptr_eq(&large, &place("d", 101)) && Arc::ptr_eq(&first, &place("a", 40)));
        for n in 0..2 * PROGRAMS {
            place(&format!("small {n}"), 0);
        }
        assert_eq!(shelf.0.len(), PROGRAMS);
    }
}
