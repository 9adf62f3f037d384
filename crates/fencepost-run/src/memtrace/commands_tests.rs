//! The controller against the judge, which knows nothing of it.

use crate::medium_table::{command, table};
use fencepost_kernel::{LineAddr, Ps, Stream};
use fencepost_machine::memory::*;
use fencepost_reference::dram::{Command, Judged, RULES, judge};
use std::collections::{BTreeMap, BTreeSet};

type Requests = Vec<(TraceOp, LineAddr)>;

/// Requests that look for trouble in ways of their own: random ones; two rows of one bank in turn; one bank group; all banks in turn with
/// writes between; streams that turn the bus often.
fn requests(how: u64, m: &MediaSpec, n: u64) -> Requests {
    let mut rng = Stream::new(how, "commands");
    let row = m.row_size.0 / 64;
    let banks = u64::from(m.banks * m.ranks);
    let writes = [30, 50, 10, 50, 90][how as usize % 5];
    let line = |i: u64, rng: &mut Stream| match how % 5 {
        0 => rng.below(1 << 22),
        1 => (i % 2) * row * banks * u64::from(m.channels) + i / 2 % row,
        2 => rng.below(64) * row * u64::from(m.bank_groups) + rng.below(4),
        3 => i % banks * row * u64::from(m.channels) + rng.below(2) * row * banks,
        _ => i + rng.below(3) * 64,
    };
    (0..n)
        .map(|i| {
            let line = LineAddr(line(i, &mut rng));
            let op = if rng.chance(writes, 100) {
                TraceOp::Write
            } else {
                TraceOp::Read
            };
            (op, line)
        })
        .collect()
}
fn sent(spec: &ControllerSpec, m: &MediaSpec, requests: Requests) -> Vec<Command> {
    let (_, sent) = record_trace(spec, m, requests).expect("a medium");
    sent.iter().map(|c| command(m, c)).collect()
}
fn judged(spec: &ControllerSpec, m: &MediaSpec, how: u64) -> Judged {
    judge(&table(m), &sent(spec, m, requests(how, m, 3000)))
}

/// A medium with every page policy, mapping and way of writing, in one and two ranks.
fn variants(m: &MediaSpec) -> Vec<MediaSpec> {
    let mut all = vec![m.clone()];
    for page in [PagePolicy::Open, PagePolicy::Closed] {
        all.push(MediaSpec { page, ..m.clone() });
    }
    for mapping in [
        Mapping::RowBankColumn,
        Mapping::RowColumnBank,
        Mapping::BankRowColumn,
        Mapping::RowBufferStride,
    ] {
        let ranks = 2;
        let bank_xor = mapping == Mapping::RowColumnBank;
        all.push(MediaSpec {
            mapping,
            ranks,
            bank_xor,
            ..m.clone()
        });
    }
    all.push(MediaSpec {
        channels: 2,
        ..m.clone()
    });
    for writes in [WritePolicy::Through, WritePolicy::RowBuffer, WritePolicy::Buffered] {
        all.push(MediaSpec { writes, ..m.clone() });
    }
    all.extend(edges(m));
    all
}
/// Times that no medium has and that a configuration may ask for: none, or longer than all others.
fn edges(m: &MediaSpec) -> Vec<MediaSpec> {
    let page = PagePolicy::Closed;
    let (writes, t_refi) = (WritePolicy::Buffered, Ps::from_ns(1400));
    vec![
        MediaSpec {
            page,
            writes,
            ..m.clone()
        },
        MediaSpec {
            t_ccd_bank: Ps::from_ns(2000),
            ..m.clone()
        },
        MediaSpec {
            t_rp: Ps::ZERO,
            t_rfc: Ps::ZERO,
            t_refi,
            ..m.clone()
        },
        MediaSpec {
            t_rfc: Ps(t_refi.0 / 2),
            t_refi,
            write_pulse: Ps::from_ns(600),
            ..m.clone()
        },
    ]
}
fn controllers() -> Vec<ControllerSpec> {
    let usual = ControllerSpec::default();
    vec![
        trace_controller(),
        ControllerSpec {
            fill_idle: false,
            read_priority: false,
            ..usual.clone()
        },
        ControllerSpec {
            row_hits_max: 1,
            write_queue: 4,
            read_queue: 4,
            ..usual.clone()
        },
        usual,
    ]
}

#[test]
fn every_medium_and_policy_keeps_every_rule_and_every_rule_binds_somewhere() {
    let mut tightest: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut how = 0;
    for preset in MediaSpec::PRESETS {
        for m in variants(&(preset.spec)()) {
            for spec in controllers() {
                how += 1;
                let j = judged(&spec, &m, how);
                assert_eq!(j.violations, [], "{} {how}: {m:?} {spec:?}", preset.name);
                for (rule, t) in j.tightest {
                    let seen = tightest.entry(rule).or_insert((0, u64::MAX));
                    *seen = (seen.0 + t.asked, seen.1.min(t.spare / m.t_ck.0));
                }
            }
        }
    }
    let asked: BTreeSet<&str> = tightest.keys().copied().collect();
    let known = RULES
        .iter()
        .map(|r| r.name)
        .chain(["tFAW", "tRTW", "tRTRS", "data bus", "command bus"]);
    assert_eq!(asked, known.collect());
    for (rule, (asked, clocks)) in tightest {
        assert!(
            asked > 100 && clocks == 0,
            "{rule}: asked {asked} times, never nearer than {clocks} clocks"
        );
    }
}

/// A scheduler that has one time wrong by a clock is convicted of just that time.
#[test]
fn a_controller_that_forgets_a_clock_of_any_time_is_convicted() {
    let ddr4 = MediaSpec {
        ranks: 2,
        ..MediaSpec::preset("ddr4-2400").expect("a preset")
    };
    let through = MediaSpec {
        writes: WritePolicy::Through,
        t_refi: Ps::ZERO,
        ..MediaSpec::preset("pcm").expect("a preset")
    };
    let bank = MediaSpec {
        t_ccd_bank: Ps(833 * 20),
        ..ddr4.clone()
    };
    let nvm = MediaSpec::preset("nvm-2400").expect("a preset");
    let one = |t: Ps, m: &MediaSpec| Ps(t.0 - m.t_ck.0);
    type Forgets = fn(&mut MediaSpec, &dyn Fn(Ps, &MediaSpec) -> Ps);
    let times: [(&str, &MediaSpec, Forgets); 18] = [
        ("tRCD", &ddr4, |m, one| m.t_rcd = one(m.t_rcd, m)),
        ("tRAS", &ddr4, |m, one| m.t_ras = one(m.t_ras, m)),
        ("tRP", &ddr4, |m, one| m.t_rp = one(m.t_rp, m)),
        ("tRC", &ddr4, |m, one| m.t_rp = one(m.t_rp, m)),
        ("tRTP", &ddr4, |m, one| m.t_rtp = one(m.t_rtp, m)),
        ("tWR", &ddr4, |m, one| m.t_wr = one(m.t_wr, m)),
        ("tRRD_S", &ddr4, |m, one| m.t_rrd = one(m.t_rrd, m)),
        ("tRRD_L", &ddr4, |m, one| m.t_rrd_l = one(m.t_rrd_l, m)),
        ("tFAW", &ddr4, |m, one| m.t_faw = one(m.t_faw, m)),
        ("tCCD_L", &ddr4, |m, one| m.t_ccd_l = one(m.t_ccd_l, m)),
        ("tCCD_bank", &bank, |m, one| m.t_ccd_bank = one(m.t_ccd_bank, m)),
        ("tWTR_S", &ddr4, |m, one| m.t_wtr = one(m.t_wtr, m)),
        ("tWTR_L", &ddr4, |m, one| m.t_wtr_l = one(m.t_wtr_l, m)),
        ("tRTW", &ddr4, |m, one| m.t_rtw = one(m.t_rtw, m)),
        ("tRTRS", &ddr4, |m, one| m.t_rtrs = one(m.t_rtrs, m)),
        ("tRFC", &ddr4, |m, one| m.t_rfc = one(m.t_rfc, m)),
        ("write pulse", &through, |m, one| m.write_pulse = one(m.write_pulse, m)),
        ("bank stores", &nvm, |m, one| m.write_pulse = one(m.write_pulse, m)),
    ];
    for (rule, m, forgets) in times {
        let mut hasty = m.clone();
        forgets(&mut hasty, &one);
        let convicted = (0..20).any(|how| {
            let commands = sent(&trace_controller(), &hasty, requests(how, m, 3000));
            judge(&table(m), &commands).violations.iter().any(|v| v.rule == rule)
        });
        assert!(convicted, "{rule}");
    }
    // The times of a burst are shared by two rules; refreshes may be late by eight.
    let fast = MediaSpec {
        t_ccd: one(ddr4.t_ccd, &ddr4),
        t_burst: one(ddr4.t_burst, &ddr4),
        ..ddr4.clone()
    };
    let of = |m: &MediaSpec| {
        (0..10)
            .flat_map(|how| judge(&table(&ddr4), &sent(&trace_controller(), m, requests(how, m, 3000))).violations)
            .map(|v| v.rule)
            .collect::<BTreeSet<_>>()
    };
    assert!(
        of(&fast).is_superset(&BTreeSet::from(["tCCD_S", "data bus"])),
        "{:?}",
        of(&fast)
    );
    let never = MediaSpec {
        t_refi: Ps::ZERO,
        ..ddr4.clone()
    };
    let long = sent(&trace_controller(), &never, requests(1, &never, 40_000));
    assert!(judge(&table(&ddr4), &long).violations.iter().any(|v| v.rule == "tREFI"));
}
