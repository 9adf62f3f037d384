//! What persist buffers say of themselves: who waits for what, and whether their state is one that they may be in.

use super::deps::Seq;
use super::front::Front;
use super::port::PortId;
use fencepost_kernel::HwThread;
use fencepost_machine::seam::Cause;

impl Front {
    /// Entries and FENCE slots in use, as the buffers have it.
    fn counted(&self, port: PortId) -> [usize; 2] {
        let mut used = [0; 2];
        for p in self.ports.pool(port) {
            let buffer = &self.tracker.ports[p.index()];
            used[0] += buffer.entries.len();
            used[1] += self.fences - buffer.free_fences();
        }
        used
    }
    /// What is wrong with the buffers and with whom they keep from their L1, if anything is.
    pub fn unsound(&self) -> Option<String> {
        let mut ports = (0..).map(PortId).zip(&self.blocked);
        let counts = |port: PortId| self.used[self.ports.first_of_pool(port).index()] == self.counted(port);
        let wrong = |(port, blocked): &(PortId, &Option<Cause>)| **blocked != self.full(*port) || !counts(*port);
        self.tracker.unsound().or_else(|| {
            let (port, _) = ports.find(wrong)?;
            Some(format!("persist buffer {}: whether it is full", port.0))
        })
    }
    /// What the buffer of a thread holds, and what its next entry waits for; `held_up` says what else can hold it up.
    pub fn explain(&self, hw_thread: HwThread, held_up: impl FnOnce(PortId) -> Option<String>) -> Option<String> {
        let port = self.ports.of(hw_thread);
        let buffer = self.tracker.ports.get(port.index())?;
        let slot = |p: PortId, s: Seq| format!("{}:{}", p.0, s.slot(self.entries));
        let oldest = buffer.entries.front()?;
        let (n, id, since) = (buffer.entries.len(), slot(port, oldest.seq), oldest.since);
        let why = match self.tracker.next(port) {
            None => "is not durable yet".to_string(),
            Some(next) => {
                let deps: Vec<_> = next.deps.open(&self.tracker.drained).map(|(p, s)| slot(p, s)).collect();
                match (deps.is_empty(), held_up(port)) {
                    (false, _) => format!("waits for {} to drain", deps.join(", ")),
                    (true, Some(why)) => why,
                    (true, None) => "waits for its turn on the persist path".to_string(),
                }
            }
        };
        Some(format!(
            "persist buffer {} holds {n} entries; its oldest, {id} (since {since}), {why}",
            port.0
        ))
    }
}
