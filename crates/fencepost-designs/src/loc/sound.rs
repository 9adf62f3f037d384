//! Whether transactions and versions of lines are in a state that they may be in: what one table says of another is so.

use super::config::LocFault;
use super::engine::Engine;
use super::lines::Line;
use super::store::Store;
use fencepost_kernel::LineAddr;

/// Lines with versions beyond which nobody looks at each of them: random programs and small ones have fewer.
const MANY: usize = 1 << 5;

impl<S: Store> Engine<S> {
    /// What is wrong with the tables, if anything is. A deliberate mistake is none of its business.
    pub(super) fn contradiction(&self) -> Option<String> {
        let t = &self.tables;
        if t.cfg.tx.fault != LocFault::None {
            return None;
        }
        let of_line = || {
            if t.lines.len() > MANY {
                return None;
            }
            let mut lines = t.lines.iter();
            lines.find_map(|(at, l)| Some(format!("{at}: {}", self.wrong_with(*at, l)?)))
        };
        let window: Vec<_> = t.window.iter().map(|k| t.txs.order(*k)).collect();
        let in_order = window.windows(2).all(|w| w[0] < w[1]) && window.iter().all(Option::is_some);
        let of_window = (!in_order).then_some("the commit order of its window");
        let own = t
            .txs
            .unsound()
            .or(of_window)
            .map(|what| format!("transactions: {what}"));
        own.or_else(of_line)
    }
    fn wrong_with(&self, at: LineAddr, line: &Line) -> Option<&'static str> {
        let (older, newest) = match &line.chain[..] {
            [older @ .., newest] => (older, Some(newest)),
            [] => (&[][..], None),
        };
        let orders: Vec<u64> = line.chain.iter().filter_map(|v| v.order).collect();
        let committed = older.iter().all(|v| v.order.is_some());
        let shared = newest.is_some_and(|v| v.last.is_some() && self.tables.has_active_owner(v));
        match () {
            () if line.arrived > line.homing.len() => Some("more writes arrived than are on their way home"),
            () if line.chain.iter().any(|v| v.owners.is_empty()) => Some("a version that is nobody's"),
            () if !committed || orders.windows(2).any(|o| o[0] >= o[1]) => Some("the order of its versions"),
            () if line.chain.iter().any(|v| v.order.is_some() != v.last.is_some()) => {
                Some("who committed a version last")
            }
            () if shared != self.shared.contains(&at) => {
                Some("the note of lines that committed and running ones share")
            }
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loc::config::{Config, NvParams, TxParams};
    use crate::loc::nv::NvCache;
    use crate::testkit::{MockCx, pm_line};
    use fencepost_kernel::HwThread;
    use fencepost_machine::seam::{Transactions, TxStart};

    /// Three threads have stored to two lines, the first of them to both; two have committed.
    fn used() -> Engine<NvCache> {
        let config = Config::new(4, &TxParams::default());
        let mut engine = Engine::new(config, NvCache::new(&NvParams::default(), LocFault::None), 3);
        let mut cx = MockCx::new(3, 1, 1, 8);
        for (thread, lines) in [(0, &[1, 2][..]), (1, &[2]), (2, &[2])] {
            let TxStart::Go(id) = engine.begin(&mut cx, HwThread(thread)) else {
                panic!("the window is open");
            };
            let key = engine.tables.running(HwThread(thread), id).expect("it runs");
            lines
                .iter()
                .for_each(|line| engine.stored(&mut cx, key, pm_line(*line)));
            if thread < 2 {
                engine.commit_asked(&mut cx, HwThread(thread), id);
            }
        }
        engine
    }

    #[test]
    fn tables_that_contradict_one_another_are_named() {
        assert_eq!(used().contradiction(), None);
        let wrong = |breaks: fn(&mut Engine<NvCache>)| {
            let mut engine = used();
            breaks(&mut engine);
            let why = engine.contradiction().unwrap_or_default();
            why.rsplit(": ").next().unwrap_or_default().to_owned()
        };
        assert_eq!(wrong(|e| e.tables.window.swap(0, 1)), "the commit order of its window");
        assert_eq!(wrong(|e| e.tables.txs.tx(3).order = Some(9)), "which of them run");
        assert_eq!(
            wrong(|e| e.tables.txs.tx(1).durable = 1),
            "how many blocks of one are written"
        );
        assert_eq!(wrong(|e| e.tables.txs.last_committed = 9), "the last that is committed");
        assert_eq!(
            wrong(|e| line(e).arrived = 1),
            "more writes arrived than are on their way home"
        );
        assert_eq!(wrong(|e| line(e).chain[0].owners.clear()), "a version that is nobody's");
        assert_eq!(wrong(|e| line(e).chain[0].last = None), "who committed a version last");
        let shared = "the note of lines that committed and running ones share";
        let noted = wrong(|e| e.shared.extend([pm_line(1)]));
        assert_eq!(noted, shared);
        let reversed = wrong(|e| {
            let committed = line(e).chain[0].clone();
            line(e).chain.push(committed);
        });
        assert_eq!(reversed, "the order of its versions");
    }
    fn line(engine: &mut Engine<NvCache>) -> &mut Line {
        engine.tables.lines.get_mut(&pm_line(1)).expect("it was stored to")
    }
}
