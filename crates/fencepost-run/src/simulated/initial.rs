//! Memory as a program's setup leaves it, kept for the next runs of the same program on this thread: designs and machines differ between the
//! runs of an experiment, the hundreds of megabytes that a program begins with do not.

use crate::config::Resolved;
use crate::error::LabError;
use fencepost_harness::AnyProgram;
use fencepost_kernel::Image;
use std::cell::RefCell;

/// Bytes of persistent memory of the programs whose images a thread keeps, together.
const KEPT: u64 = 2 << 30;

/// An image, by everything that it depends on; the one used last stands last.
struct Kept {
    program: String,
    bytes: u64,
    image: Image,
}

thread_local! {
    static IMAGES: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Memory before the first operation of a run; `bytes` of it are persistent.
pub(super) fn initial(resolved: &Resolved, program: &dyn AnyProgram, bytes: u64) -> Result<Image, LabError> {
    let name = format!("{} {:?}", resolved.program_word(), resolved.program);
    IMAGES.with_borrow_mut(|all| {
        if let Some(at) = all.iter().position(|k| k.program == name) {
            let kept = all.remove(at);
            let image = kept.image.clone();
            all.push(kept);
            return Ok(image);
        }
        while !all.is_empty() && all.iter().map(|k| k.bytes).sum::<u64>() + bytes > KEPT {
            all.remove(0);
        }
        let image = program.initial().map_err(|e| LabError::Internal(e.to_string()))?;
        if bytes <= KEPT {
            let image = image.clone();
            all.push(Kept {
                program: name,
                bytes,
                image,
            });
        }
        Ok(image)
    })
}
