//! Memory as a program's setup leaves it, kept for the next runs of the same program: designs and machines differ between the runs of an
//! experiment, the hundreds of megabytes that a program begins with do not. All threads of the process share it.

use super::shelf::Shelf;
use crate::config::Resolved;
use crate::error::LabError;
use crate::host::available_memory;
use fencepost_harness::AnyProgram;
use fencepost_kernel::{Image, Snapshot, fault};
use std::sync::{Mutex, OnceLock};

/// Bytes of persistent memory of the programs whose first memory is kept, together, at least. It takes about as much of the host.
const KEPT: u64 = 2 << 30;

/// One part in so many of what was free on the host when the first was made may be kept, where that is more: a search over readings goes
/// back and forth between programs of several sizes, and making one anew takes seconds. A choice of ours: three parts are left to runs.
const SHARE: u64 = 4;

/// Bytes that are kept on this host.
fn bound() -> u64 {
    static BOUND: OnceLock<u64> = OnceLock::new();
    *BOUND.get_or_init(|| available_memory().map_or(KEPT, |free| KEPT.max(free / SHARE)))
}

/// The first memory of a program, or why it has none.
type First = Result<Snapshot, String>;

static SHELF: Mutex<Shelf<First>> = Mutex::new(Shelf::new());

/// Memory before the first operation of a run; `bytes` of it are persistent.
pub(super) fn initial(resolved: &Resolved, program: &dyn AnyProgram, bytes: u64) -> Result<Image, LabError> {
    // A fault that is planted for this thread may break the set-up, too.
    let name = format!("{} {:?}", resolved.first_memory(), fault::current().names());
    let made = Shelf::of(&SHELF, name, bytes, bound());
    let make = || program.initial().map(Image::freeze).map_err(|e| e.to_string());
    match made.get_or_init(make) {
        Ok(snapshot) => Ok(snapshot.image()),
        Err(why) => Err(LabError::Internal(why.clone())),
    }
}

#[cfg(test)]
mod tests {
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
}
