//! Whether the write-combining buffers are in a state that they may be in.

use super::paths::Paths;
use fencepost_kernel::CoreId;

impl Paths {
    /// What is wrong with the buffers, if anything is.
    pub fn unsound(&self) -> Option<String> {
        let mut cores = (0..).map(CoreId).zip(&self.cores);
        cores.find_map(|(core, c)| {
            let noted = self.buffering >> core.0 & 1 == 1;
            let missed = (noted == c.wcb.is_empty()).then_some("whether it holds anything");
            let what = c.wcb.unsound().or(missed)?;
            Some(format!("the write-combining buffer of core {}: {what}", core.0))
        })
    }
}
