//! Writes of the machine's own on their way to a memory controller.

use super::notify::Notify;
use super::outside::Outside;
use super::state::{Hierarchy, Side, Step, UnderWay};
use crate::seam::{Write, WriteId};
use crate::spec::CleanPath;
use fencepost_kernel::{LineAddr, LineData, Ps};
use fencepost_kernel::{fault, planted};

impl Hierarchy {
    /// Queues a write of the machine's own for its controller.
    pub(super) fn send_out(&mut self, out: &mut impl Outside, side: Side, write: Write, notify: Notify) {
        let early = planted!(
            "hierarchy.clean-answered-early",
            "a flush is complete once the controller has its line"
        );
        let notify = match early {
            true => {
                self.cleaned_now(out, &notify, Some(&write.data));
                Notify::default()
            }
            false => notify,
        };
        let since = out.now();
        self.interfaces[side as usize].outgoing.push(write, notify, since);
        self.try_outgoing(out, side);
    }

    /// Hands over what the controller takes, oldest first, and writes to one line in order.
    pub(crate) fn try_outgoing(&mut self, out: &mut impl Outside, side: Side) {
        let mut i = 0;
        while let Some(next) = self.interfaces[side as usize].outgoing.get(i) {
            let (line, queue) = (next.write.line, next.write.queue);
            if self.goes_later(side, i) {
                i += 1;
                continue;
            }
            let pushed = match out.takes_none(side, line, queue) {
                true => None,
                false => out.push_write(side, next.write),
            };
            let Some(id) = pushed else {
                if !out.routes(side) {
                    // All of them go to one queue: the others find it full or closed, too.
                    break;
                }
                i += 1;
                continue;
            };
            let interface = &mut self.interfaces[side as usize];
            let gone = interface.outgoing.remove(i);
            // Also without anyone to tell yet: a clean that finds the line on its way completes when it arrives.
            let notify = gone.map(|w| w.notify).unwrap_or_default();
            interface.under_way.push(UnderWay { id, line, notify });
        }
        out.wake_memory(side);
        self.retry_held_up(out, side);
        let forgotten = planted!(
            "hierarchy.throttled-forgotten",
            "a request that found the way to memory full hears of room on it"
        );
        if !self.bus.throttled.is_empty() && !forgotten {
            self.unthrottle(out);
        }
    }

    /// Whether another write to its line goes before the waiting one at a position.
    #[inline]
    fn goes_later(&self, side: Side, i: usize) -> bool {
        let outgoing = &self.interfaces[side as usize].outgoing;
        let behind = outgoing.get(i).is_some_and(|w| w.behind);
        // The other way round: older bytes arrive over newer ones.
        let younger = fault::ENABLED && outgoing.younger_on_line(i);
        let swapped = (behind || younger)
            && planted!(
                "hierarchy.write-overtakes-write",
                "writes of one line reach their controller in order"
            );
        if swapped { younger } else { behind }
    }

    /// A write arrived in its controller's queue.
    pub(crate) fn write_arrived(&mut self, out: &mut impl Outside, side: Side, id: WriteId, data: &LineData) {
        self.counters.memory_writes[side as usize] += 1;
        let interface = &mut self.interfaces[side as usize];
        let Some(i) = interface.under_way.iter().position(|w| w.id == id) else {
            return;
        };
        let notify = interface.under_way.swap_remove(i).notify;
        match self.clean_answer() {
            Ps::ZERO => self.cleaned_now(out, &notify, Some(data)),
            back => {
                for (hw_thread, tag) in notify.iter() {
                    let slot = self.answers.iter().position(Option::is_none).unwrap_or_else(|| {
                        self.answers.push(None);
                        self.answers.len() - 1
                    });
                    self.answers[slot] = Some((hw_thread, tag, *data));
                    out.schedule(out.now() + back, Step::CleanAnswered(slot as u32));
                }
            }
        }
    }
    /// The answer to a clean that wrote its line is back at its core.
    pub(crate) fn clean_answered(&mut self, out: &mut impl Outside, slot: u32) {
        if let Some((hw_thread, tag, data)) = self.answers[slot as usize].take() {
            out.cleaned(self, hw_thread, tag, Some(&data));
        }
    }

    /// Whether a write of the design's own must wait, because older bytes of the line still wait for the controller, which
    /// must not arrive over the newer ones, or are being read there for another line. The writers of `queue` hear of it when
    /// that is over.
    pub(crate) fn holds_up_write(&mut self, line: LineAddr, queue: u8) -> bool {
        let interface = &mut self.interfaces[Side::Pm as usize];
        let older = interface.outgoing.holds(line) || interface.redirected.contains(&line);
        if older {
            interface.line_refused.push(queue);
        }
        older
    }
    /// Writes of the design's own that were held up try again.
    pub(super) fn retry_held_up(&mut self, out: &mut impl Outside, side: Side) {
        for queue in std::mem::take(&mut self.interfaces[side as usize].line_refused) {
            out.queue_freed(self, queue);
        }
    }

    /// Whether so many evictions wait for memory that new requests must hold back.
    pub(super) fn write_path_full(&self) -> bool {
        let limit = self.spec.llc.writeback_buffer as usize;
        self.interfaces.iter().any(|d| d.outgoing.len() >= limit) || self.llc.write_back.len() >= limit
    }

    /// Lets requests that were held back ask again.
    pub(crate) fn unthrottle(&mut self, out: &mut impl Outside) {
        while !self.write_path_full() {
            let Some(b) = self.bus.throttled.pop_front() else {
                return;
            };
            self.regrant(out, b);
            // One at a time would be too slow; every regrant checks again at its own event.
        }
    }

    /// Time a clean's line needs from the cache that held it to memory.
    pub(super) fn clean_path(&self, from_llc: bool) -> Ps {
        let bus = &self.spec.bus;
        match (from_llc, self.pays_levels()) {
            (true, false) => self.spec.llc.latency + bus.to_memory,
            (true, true) => self.look_ups() + bus.to_memory,
            (false, levels) => {
                let below = if levels { self.look_ups() } else { Ps::ZERO };
                bus.snoop + bus.transfer + below + bus.to_memory
            }
        }
    }
    /// Time a clean needs that finds nothing to write.
    pub(super) fn clean_in_vain(&self) -> Ps {
        match self.pays_levels() {
            true => self.spec.bus.snoop + self.look_ups() + self.spec.bus.transfer,
            false => self.spec.bus.snoop,
        }
    }
    /// From a clean's line at the controller to the answer at its core.
    fn clean_answer(&self) -> Ps {
        match self.pays_levels() {
            true => self.spec.bus.to_memory + self.spec.bus.transfer,
            false => Ps::ZERO,
        }
    }
    fn pays_levels(&self) -> bool {
        self.spec.bus.clean_path == CleanPath::Levels
    }
    /// A look-up in each level below the first.
    fn look_ups(&self) -> Ps {
        self.spec.l2.as_ref().map_or(Ps::ZERO, |l2| l2.latency) + self.spec.llc.latency
    }
}
