//! Lines that the network adapter writes: into the last-level cache (direct data I/O), coherent with every core.

use super::lines::Behind;
use super::outside::Outside;
use super::state::{Hierarchy, Refused};
use crate::seam::{Level, Snoop};
use fencepost_kernel::{CoreId, LineAddr, Ps};

impl Hierarchy {
    /// The first time from `at` on at which the bus is free for a line of the network.
    pub(crate) fn remote_slot(&mut self, at: Ps) -> Ps {
        self.bus_slot(at)
    }
    /// Whether a line may be written now. If not, [`super::Step::Remote`] follows for the port. `core` is the port's number among
    /// the sources of persists: behind all cores.
    pub(crate) fn may_take_remote(&mut self, out: &mut impl Outside, port: u8, core: CoreId, line: LineAddr) -> bool {
        let me = Behind::Remote(port);
        let at = self.bus.lines.entry(line);
        if self.bus.lines.wait(at, me) {
            return false;
        }
        if self.write_path_full() {
            self.bus.throttled.push_back(me);
            return false;
        }
        if let Some((cause, by)) = self.peers_refuse(out, (core, line, at), Snoop::ReadExclusive) {
            self.bus.refused.push(Refused { who: me, cause, by });
            return false;
        }
        true
    }
    /// Writes a line that may be taken: every core loses its copy, the last-level cache holds the bytes.
    pub(crate) fn take_remote(&mut self, out: &mut impl Outside, core: CoreId, line: LineAddr) {
        self.counters.bus_grants += 1;
        // The words that arrive replace those of every copy, wherever it goes from here.
        let words = self.keeps_bytes().then(|| out.line_data(line).words);
        let at = self.bus.lines.entry(line);
        for p in self.bus.lines.holders(at) {
            self.set_words(Level::L1(p), line, words);
            self.set_words(Level::L2(p), line, words);
        }
        self.move_peers(out, (core, line, at), true);
        self.insert_llc(out, line, (true, 0), words);
    }
}
