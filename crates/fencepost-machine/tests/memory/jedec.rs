//! Every command of random traffic against the rules of the standard, pair by pair, written down independently of the
//! controller's own bookkeeping.

use super::util::*;
use fencepost_kernel::{LineAddr, Ps, Stream};
use fencepost_machine::memory::*;
use fencepost_machine::seam::WriteId;
use std::collections::BTreeMap;

/// Checks a whole command list of one medium; every violation is a panic with the pair that shows it.
struct Checker<'a> {
    m: &'a MediaSpec,
    pairs: BTreeMap<&'static str, (u64, u64)>,
}
impl Checker<'_> {
    fn rank(&self, c: &CommandRecord) -> u16 {
        c.bank / self.m.banks
    }
    fn group(&self, c: &CommandRecord) -> u16 {
        c.bank % self.m.banks % self.m.bank_groups
    }
    /// `b` must come at least `gap` after `a`. Remembers the smallest excess, to see which rules ever bind.
    fn gap(&mut self, rule: &'static str, a: &CommandRecord, b: &CommandRecord, gap: u64) {
        assert!(
            b.time.0 >= a.time.0 + gap,
            "{rule}: {b:?} too soon after {a:?}, needs {gap} ps"
        );
        let seen = self.pairs.entry(rule).or_insert((0, u64::MAX));
        seen.0 += 1;
        seen.1 = seen.1.min(b.time.0 - a.time.0 - gap);
    }
    fn pair(&mut self, a: &CommandRecord, b: &CommandRecord) {
        use CommandKind::{Activate, Precharge, PrechargeAll, Read, Write};
        let m = self.m;
        let (same_bank, same_rank) = (a.bank == b.bank, self.rank(a) == self.rank(b));
        let same_group = same_rank && self.group(a) == self.group(b);
        let pulse = if m.writes == WritePolicy::Through {
            m.write_pulse.0
        } else {
            0
        };
        let column_to_column = |l: u64, s: u64| if same_group { l.max(s) } else { s };
        self.gap("one command a clock", a, b, m.t_ck.0);
        match (a.kind, b.kind) {
            (Activate { .. }, Activate { .. }) if same_bank => self.gap("tRC", a, b, m.t_ras.0 + m.t_rp.0),
            (Activate { .. }, Activate { .. }) if same_group => self.gap("tRRD_L", a, b, m.t_rrd_l.0),
            (Activate { .. }, Activate { .. }) if same_rank => self.gap("tRRD_S", a, b, m.t_rrd.0),
            (Activate { .. }, Read { .. } | Write { .. }) if same_bank => {
                self.gap("tRCD", a, b, m.t_rcd.0.max(m.read_pulse.0));
            }
            (Activate { .. }, Precharge) if same_bank => self.gap("tRAS", a, b, m.t_ras.0),
            (Precharge, Activate { .. }) if same_bank => self.gap("tRP", a, b, m.t_rp.0),
            (Read { .. }, Precharge) if same_bank => self.gap("tRTP", a, b, m.t_rtp.0),
            (Write { .. }, Precharge) if same_bank => {
                self.gap("tWR", a, b, m.t_cwl.0 + m.t_burst.0 + m.t_wr.0.max(m.write_pulse.0));
            }
            (Read { .. }, Read { .. }) | (Write { .. }, Write { .. }) if same_rank => {
                let gap = column_to_column(m.t_ccd_l.0, m.t_ccd.0).max(m.t_burst.0);
                self.gap("tCCD", a, b, gap);
            }
            (Read { .. }, Read { .. }) | (Write { .. }, Write { .. }) => {
                self.gap("tRTRS, same direction", a, b, m.t_burst.0 + m.t_rtrs.0);
            }
            (Write { .. }, Read { .. }) if same_rank => {
                let gap = m.t_cwl.0 + m.t_burst.0 + column_to_column(m.t_wtr_l.0, m.t_wtr.0);
                self.gap("tWTR", a, b, gap);
            }
            (Write { .. }, Read { .. }) => {
                let gap = (m.t_cwl.0 + m.t_burst.0 + m.t_rtrs.0).saturating_sub(m.t_cl.0);
                self.gap("tRTRS, write to read", a, b, gap);
            }
            // A refresh needs closed rows: what it takes to close one, and tRP.
            (Activate { .. }, CommandKind::Refresh) if same_rank => {
                self.gap("before a refresh", a, b, m.t_ras.0 + m.t_rp.0);
            }
            (Precharge | PrechargeAll, CommandKind::Refresh) if same_rank => {
                self.gap("before a refresh", a, b, m.t_rp.0);
            }
            (Read { .. }, CommandKind::Refresh) if same_rank => {
                self.gap("before a refresh", a, b, m.t_rtp.0 + m.t_rp.0);
            }
            (Write { .. }, CommandKind::Refresh) if same_rank => {
                let close = m.t_cwl.0 + m.t_burst.0 + m.t_wr.0 + m.t_rp.0;
                self.gap("before a refresh", a, b, close);
            }
            (Read { .. }, Write { .. }) => {
                let gap = (m.t_cl.0 + m.t_burst.0 + m.t_rtw.0).saturating_sub(m.t_cwl.0);
                self.gap("read to write", a, b, gap);
            }
            _ => {}
        }
        if let (Write { .. }, Read { .. } | Write { .. }, true) = (a.kind, b.kind, same_bank && pulse > 0) {
            self.gap("write pulse", a, b, m.t_cwl.0 + m.t_burst.0 + pulse);
        }
    }
    /// Pairs within a window, four-activate windows, data bus, row state.
    fn check(&mut self, commands: &[CommandRecord]) {
        const WINDOW: usize = 60;
        for (i, b) in commands.iter().enumerate() {
            for a in &commands[i.saturating_sub(WINDOW)..i] {
                self.pair(a, b);
            }
        }
        let mut activates: BTreeMap<u16, Vec<&CommandRecord>> = BTreeMap::new();
        for c in commands
            .iter()
            .filter(|c| matches!(c.kind, CommandKind::Activate { .. }))
        {
            let list = activates.entry(self.rank(c)).or_default();
            list.push(c);
            if let [.., first, _, _, _, fifth] = list[..] {
                self.gap("tFAW", first, fifth, self.m.t_faw.0);
            }
        }
        self.data_bus(commands);
        self.rows(commands);
    }
    /// No two lines on the data bus at once.
    fn data_bus(&self, commands: &[CommandRecord]) {
        let start = |c: &CommandRecord| match c.kind {
            CommandKind::Read { .. } => Some(c.time.0 + self.m.t_cl.0),
            CommandKind::Write { .. } => Some(c.time.0 + self.m.t_cwl.0),
            _ => None,
        };
        let mut data: Vec<u64> = commands.iter().filter_map(start).collect();
        data.sort_unstable();
        assert!(data.windows(2).all(|w| w[1] >= w[0] + self.m.t_burst.0), "data bus");
    }
    /// Columns go to the row that is open, activates to closed banks; refreshes find their rank quiet and leave it so.
    fn rows(&mut self, commands: &[CommandRecord]) {
        let mut open: BTreeMap<u16, u64> = BTreeMap::new();
        let mut refreshed: BTreeMap<u16, CommandRecord> = BTreeMap::new();
        for c in commands {
            let rank = self.rank(c);
            if let Some(r) = refreshed.get(&rank).filter(|_| !matches!(c.kind, CommandKind::Refresh)) {
                let r = *r;
                self.gap("tRFC", &r, c, self.m.t_rfc.0);
            }
            match c.kind {
                CommandKind::Activate { row } => {
                    assert_eq!(open.insert(c.bank, row), None, "{c:?}");
                }
                CommandKind::Precharge => assert!(open.remove(&c.bank).is_some(), "{c:?}"),
                CommandKind::PrechargeAll => open.retain(|bank, _| bank / self.m.banks != rank),
                CommandKind::Read { row, .. } | CommandKind::Write { row, .. } => {
                    assert_eq!(open.get(&c.bank), Some(&row), "{c:?}");
                    if self.m.page == PagePolicy::Closed {
                        open.remove(&c.bank);
                    }
                }
                CommandKind::Refresh => {
                    assert!(open.keys().all(|bank| bank / self.m.banks != rank), "{c:?}");
                    refreshed.insert(rank, *c);
                }
            }
        }
    }
}

fn commands(media: &MediaSpec, seed: u64) -> Vec<CommandRecord> {
    let mut c = Controller::new(&bare(), media, &Default::default(), false).unwrap();
    c.record_commands();
    let mut rng = Stream::new(seed, "jedec");
    let (mut now, mut line, mut out) = (Ps::ZERO, 0, Vec::new());
    let (writes, jumps) = (rng.below(80), 5 + rng.below(90));
    for id in 0..4000 {
        line = if rng.chance(jumps, 100) {
            rng.below(1 << 14)
        } else {
            line + 1
        };
        if rng.chance(writes, 100) {
            while c.push_write(now, WriteId(id), write(line, id, None)).is_err() {
                now = c.next_event().unwrap();
                c.advance(now, &mut out);
            }
        } else {
            while c.push_read(now, ReadId(id), LineAddr(line)).is_err() {
                now = c.next_event().unwrap();
                c.advance(now, &mut out);
            }
        }
        out.clear();
    }
    c.advance(Ps(1 << 60), &mut out);
    assert!(c.is_empty());
    // A refresh is noticed when the next request comes.
    let mut list = c.commands().to_vec();
    list.sort_by_key(|c| c.time);
    list
}

#[test]
fn every_pair_of_commands_keeps_its_distance_and_every_rule_binds_somewhere() {
    let ddr3 = MediaSpec::preset("ddr3-1600").unwrap();
    let ddr4 = MediaSpec::preset("ddr4-2400").unwrap();
    let two_ranks = |m: &MediaSpec| MediaSpec { ranks: 2, ..m.clone() };
    let media = [
        two_ranks(&ddr3),
        MediaSpec {
            mapping: Mapping::RowColumnBank,
            ..ddr3.clone()
        },
        ddr4.clone(),
        MediaSpec {
            mapping: Mapping::RowColumnBank,
            ..two_ranks(&ddr4)
        },
        MediaSpec {
            page: PagePolicy::Closed,
            ..two_ranks(&ddr3)
        },
        MediaSpec {
            writes: WritePolicy::Through,
            ..MediaSpec::preset("pcm").unwrap()
        },
        MediaSpec::preset("pcm").unwrap(),
        MediaSpec::preset("broi-nvm").unwrap(),
    ];
    let mut tightest: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for m in &media {
        for seed in 0..6 {
            let list = commands(m, seed);
            let mut checker = Checker {
                m,
                pairs: BTreeMap::new(),
            };
            checker.check(&list);
            for (rule, (n, slack)) in checker.pairs {
                let t = tightest.entry(rule).or_insert((0, u64::MAX));
                *t = (t.0 + n, t.1.min(slack));
            }
        }
    }
    // A rule that never binds would not be tested; commands are on clock edges, so less than a clock over is tight.
    for (rule, (n, slack)) in &tightest {
        assert!(
            *n > 100 && *slack < ddr3.t_ck.0 * 2,
            "{rule}: {n} pairs, never closer than {slack} ps to its bound"
        );
    }
    assert_eq!(tightest.len(), 18, "{:?}", tightest.keys());
}
