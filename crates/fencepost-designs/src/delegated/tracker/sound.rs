//! Whether the persist buffers of all cores are in a state that they may be in together.

use super::{Fault, PortId, Tracker};
use crate::delegated::buffer::{Kind, PersistBuffer};
use fencepost_kernel::LineAddr;
use std::collections::BTreeMap;

impl Tracker {
    /// What is wrong with the buffers, if anything is. A deliberate mistake is none of its business.
    pub fn unsound(&self) -> Option<String> {
        if self.fault != Fault::None {
            return None;
        }
        let mut ports = (0..).map(PortId).zip(&self.ports);
        let alone = ports.find_map(|(owner, port)| {
            let what = port.unsound().or_else(|| self.wrong_with(owner, port))?;
            Some(format!("persist buffer {}: {what}", owner.0))
        });
        alone.or_else(|| self.newest_twice())
    }
    /// A line of which two buffers hold the newest bytes.
    fn newest_twice(&self) -> Option<String> {
        let mut by: BTreeMap<LineAddr, PortId> = BTreeMap::new();
        for (owner, port) in (0..).map(PortId).zip(&self.ports) {
            for line in port.youngest() {
                if let Some(other) = by.insert(line, owner) {
                    return Some(format!(
                        "persist buffers {} and {}: both have the newest of {line}",
                        other.0, owner.0
                    ));
                }
            }
        }
        None
    }
    fn wrong_with(&self, owner: PortId, port: &PersistBuffer) -> Option<&'static str> {
        let bit = |word: u64| word >> owner.0 & 1 == 1;
        let drained = port.appended - port.entries.len() as u64;
        let noted = |line: u64| bit(self.summary.may_persist(LineAddr(line))) == port.may_hold(LineAddr(line));
        let waiting = port
            .entries
            .iter()
            .map(|e| &e.deps)
            .chain([&port.accum, &port.inherited.deps]);
        let mut open = waiting.flat_map(|d| d.open(&self.drained));
        let appended = |owner: PortId| self.ports[owner.index()].appended;
        let head = self.next(owner);
        let is_fence = head.is_some_and(|h| matches!(h.kind, Kind::Fence { .. }));
        let clear = head.map(|h| h.deps.clear_of(&self.drained));
        match () {
            () if self.drained[owner.index()] != drained => Some("how many entries have drained"),
            () if !(0..64).all(noted) => Some("the note of lines that it holds"),
            () if open.any(|(of, seq)| seq.0 > appended(of)) => Some("a dependence on what is no entry yet"),
            () if bit(self.fences) != is_fence => Some("the note of a FENCE that is its next"),
            () if (bit(self.free), bit(self.waiting)) != (clear == Some(true), clear == Some(false)) => {
                Some("the note whether its next entry waits")
            }
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delegated::{DelegatedParams, Seq};
    use fencepost_kernel::{HwThread, LineData, Ps};
    use fencepost_machine::seam::Epoch;

    #[test]
    fn what_buffers_say_of_one_another_is_so_or_named() {
        let used = || {
            let mut t = Tracker::new(&DelegatedParams::default(), 2, false);
            let at = (Ps::ZERO, Epoch(0));
            for (port, line) in [(0, 1), (0, 2), (1, 3)] {
                let (thread, port) = (HwThread(port), PortId(port));
                t.persist(Some(thread), port, LineAddr(line), &LineData::default(), at);
            }
            t.fence(PortId(1), Ps::ZERO);
            t.drop_head(PortId(0), None);
            t
        };
        assert_eq!(used().unsound(), None);
        let wrong = |breaks: fn(&mut Tracker)| {
            let mut t = used();
            breaks(&mut t);
            t.unsound().unwrap_or_default()
        };
        assert_eq!(
            wrong(|t| t.drained[0] = 0),
            "persist buffer 0: how many entries have drained"
        );
        let unnoted = wrong(|t| t.summary.set_persists(PortId(1), LineAddr(3), false));
        assert_eq!(unnoted, "persist buffer 1: the note of lines that it holds");
        let early = wrong(|t| t.ports[0].accum.add(PortId(1), Seq(3)));
        assert_eq!(early, "persist buffer 0: a dependence on what is no entry yet");
        assert_eq!(
            wrong(|t| t.fences |= 2),
            "persist buffer 1: the note of a FENCE that is its next"
        );
        assert_eq!(
            wrong(|t| t.free = 0),
            "persist buffer 0: the note whether its next entry waits"
        );
        let twice = wrong(|t| {
            let at = (Ps::ZERO, Epoch(0));
            t.persist(None, PortId(1), LineAddr(2), &LineData::default(), at);
        });
        assert_eq!(twice, "persist buffers 0 and 1: both have the newest of line 0x80");
    }
}
