//! What a stuck machine says of the paths.

use super::paths::Paths;
use fencepost_kernel::HwThread;

impl Paths {
    /// Who waits for whom.
    pub fn explain(&self, hw_thread: HwThread) -> Option<String> {
        let h = self.hw_threads.get(hw_thread.index())?;
        let c = self.cores.get(hw_thread.index() / self.threads_per_core.max(1))?;
        let (w, line) = (&c.wcb, c.wcb.next().map(|e| e.line));
        let unsent = line.map_or(String::new(), |l| {
            let why = if c.refused {
                "refused by the controller"
            } else {
                "not due"
            };
            format!("; {l} is at head, {why}")
        });
        let busy = h.flushes > 0 || !w.is_empty();
        busy.then(|| {
            format!(
                "{} flushes out; write-combining buffer: headACK {} of tail {}{}{unsent}",
                h.flushes,
                w.head_ack(),
                w.tail(),
                if w.wrapping() { ", being drained" } else { "" },
            )
        })
    }
}
