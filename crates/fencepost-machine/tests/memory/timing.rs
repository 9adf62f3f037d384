//! Closed-form timing of the memory controller: one test for each rule, expected values from the rule's own formula.

use super::util::round::*;
use super::util::*;
use super::write_pulses::pcm;
use fencepost_kernel::Ps;
use fencepost_machine::memory::*;

fn harness(media: &MediaSpec) -> Harness {
    Harness::new(&bare(), media)
}

#[test]
fn read_miss_hit_and_conflict() {
    let mut h = harness(&media());
    // Row closed: ACT at 0, RD after tRCD, data until tCL + tBURST later.
    assert_eq!(h.read_alone(0, at(0, 0, 0)), RCD + CL + BURST);
    // Row open: RD at once.
    assert_eq!(h.read_alone(100_000, at(0, 0, 1)), 100_000 + CL + BURST);
    // Another row: PRE at once (tRAS and tRTP long past), ACT, RD.
    assert_eq!(h.read_alone(200_000, at(0, 1, 0)), 200_000 + RP + RCD + CL + BURST);
    let s = h.c.stats();
    assert_eq!((s.row_misses, s.row_hits, s.row_conflicts), (1, 1, 1));
    assert_eq!((s.reads, s.bytes, s.busy), (3, 192, 3 * BURST));
}

#[test]
fn an_early_conflict_waits_for_the_row_to_be_restored() {
    let mut h = harness(&media());
    let _ = h.read(0, at(0, 0, 0));
    let second = h.read(0, at(0, 1, 0));
    h.finish();
    // ACT to PRE takes tRAS (here longer than tRCD + tRTP), so ACT to ACT takes tRC = tRAS + tRP.
    assert_eq!(h.read_time(second), RAS + RP + RCD + CL + BURST);
}

#[test]
fn a_precharge_waits_for_the_last_read() {
    let mut h = harness(&media());
    let n = 6;
    for column in 0..n {
        let _ = h.read(0, at(0, 0, column));
    }
    let conflict = h.read(0, at(0, 1, 0));
    h.finish();
    // The last of six reads is at tRCD + 5 tCCD, beyond tRAS - tRTP; then tRTP, PRE, ACT, RD.
    let last = RCD + (n - 1) * CCD;
    assert!(last + RTP > RAS);
    assert_eq!(h.read_time(conflict), last + RTP + RP + RCD + CL + BURST);
}

#[test]
fn row_hits_follow_at_the_longer_of_ccd_and_burst() {
    for (ccd, burst) in [(CCD, BURST), (CCD, 9000)] {
        let m = MediaSpec {
            t_ccd: Ps(ccd),
            t_ccd_l: Ps(ccd),
            t_burst: Ps(burst),
            ..media()
        };
        let mut h = harness(&m);
        let ids: Vec<_> = (0..8).map(|c| h.read(0, at(0, 0, c))).collect();
        h.finish();
        for (i, id) in ids.iter().enumerate() {
            assert_eq!(h.read_time(*id), RCD + i as u64 * ccd.max(burst) + CL + burst);
        }
    }
}

#[test]
fn bank_groups_have_their_own_column_gap() {
    let m = MediaSpec {
        bank_groups: 2,
        t_ccd_l: Ps(9000),
        ..media()
    };
    // Banks 0 and 2 share a group, banks 0 and 1 do not. Both rows are opened first.
    for (bank, gap) in [(2, 9000), (1, CCD)] {
        let mut h = harness(&m);
        let _ = h.read_alone(0, at(0, 0, 0));
        let _ = h.read_alone(100_000, at(bank, 0, 0));
        let first = h.read(200_000, at(0, 0, 1));
        let second = h.read(200_000, at(bank, 0, 1));
        h.finish();
        assert_eq!(h.read_time(second) - h.read_time(first), gap);
    }
}

#[test]
fn activates_keep_their_distance_and_only_four_fit_the_window() {
    let m = MediaSpec {
        t_faw: Ps(40_000),
        ..media()
    };
    let mut h = harness(&m);
    let ids: Vec<_> = (0..5).map(|bank| h.read(0, at(bank, 0, 0))).collect();
    h.finish();
    for (i, id) in ids[..4].iter().enumerate() {
        assert_eq!(h.read_time(*id), i as u64 * RRD + RCD + CL + BURST, "tRRD, bank {i}");
    }
    // 4 tRRD = 24 ns would be allowed; tFAW moves the fifth to 40 ns.
    assert_eq!(h.read_time(ids[4]), 40_000 + RCD + CL + BURST);
    // Without the window the fifth follows at tRRD.
    let mut h = harness(&media());
    let ids: Vec<_> = (0..5).map(|bank| h.read(0, at(bank, 0, 0))).collect();
    h.finish();
    assert_eq!(h.read_time(ids[4]), 4 * RRD + RCD + CL + BURST);
}

#[test]
fn same_group_activates_use_their_own_gap() {
    let m = MediaSpec {
        bank_groups: 2,
        t_rrd_l: Ps(13_000),
        ..media()
    };
    for (bank, gap) in [(2, 13_000), (1, RRD)] {
        let mut h = harness(&m);
        let _ = h.read(0, at(0, 0, 0));
        let second = h.read(0, at(bank, 0, 0));
        h.finish();
        assert_eq!(h.read_time(second), gap + RCD + CL + BURST);
    }
}

#[test]
fn write_to_read_turnaround() {
    let mut h = harness(&media());
    let _ = h.read_alone(0, at(0, 0, 0));
    let w = h.write(100_000, write(at(0, 0, 1), 1, None));
    h.run_until(100_000);
    let r = h.read(100_000, at(0, 0, 2));
    h.finish();
    // WR at 100 ns; RD after its data and tWTR.
    assert_eq!(h.durable_time(w), 100_000 + CWL + BURST);
    assert_eq!(h.read_time(r), 100_000 + CWL + BURST + WTR + CL + BURST);
}

#[test]
fn read_to_write_turnaround() {
    let mut h = harness(&media());
    let _ = h.read_alone(0, at(0, 0, 0));
    let _ = h.read(100_000, at(0, 0, 2));
    h.run_until(100_000);
    let w = h.write(100_000, write(at(0, 0, 1), 1, None));
    h.finish();
    // RD at 100 ns; write data may start tRTW after the end of its data, so WR at tCL + tBURST + tRTW - tCWL.
    assert_eq!(h.durable_time(w), 100_000 + (CL + BURST + RTW - CWL) + CWL + BURST);
}

#[test]
fn write_recovery_delays_the_precharge() {
    let mut h = harness(&media());
    let _ = h.write(0, write(at(0, 0, 0), 1, None));
    h.run_until(RCD);
    let conflict = h.read(RCD, at(0, 1, 0));
    h.finish();
    assert_eq!(h.read_time(conflict), RCD + CWL + BURST + WR + RP + RCD + CL + BURST);
}

#[test]
fn changing_ranks_costs_idle_bus_time() {
    let m = MediaSpec { ranks: 2, ..media() };
    let rank1 = 8 * 16; // eight banks of one row each lie below the rank bit
    let mut h = harness(&m);
    let _ = h.read_alone(0, 0);
    let _ = h.read_alone(100_000, rank1);
    let first = h.read(200_000, 1);
    let second = h.read(200_000, rank1 + 1);
    h.finish();
    assert_eq!(h.read_time(second) - h.read_time(first), BURST + RTRS);
}

#[test]
fn ranks_and_channels_do_not_share_banks_but_channels_do_not_share_buses() {
    let m = MediaSpec { channels: 2, ..media() };
    let mut h = harness(&m);
    let ids = [h.read(0, 0), h.read(0, 1)];
    h.finish();
    assert_eq!(ids.map(|id| h.read_time(id)), [RCD + CL + BURST; 2]);
    assert_eq!(h.c.banks(), 16);
    assert_ne!(
        h.c.bank(fencepost_kernel::LineAddr(0)),
        h.c.bank(fencepost_kernel::LineAddr(1))
    );
}

#[test]
fn a_refresh_closes_rows_and_blocks_its_rank() {
    const REFI: u64 = 1_000_000;
    const RFC: u64 = 200_000;
    let m = MediaSpec {
        t_refi: Ps(REFI),
        t_rfc: Ps(RFC),
        ..media()
    };
    let mut h = harness(&m);
    let _ = h.read_alone(0, at(0, 0, 0));
    // Due while the row is open: PRE, refresh, then the row must be opened again.
    assert_eq!(h.read_alone(REFI, at(0, 0, 1)), REFI + RP + RFC + RCD + CL + BURST);
    // Just before the next one: a hit, not delayed.
    assert_eq!(h.read_alone(2 * REFI - CK, at(0, 0, 2)), 2 * REFI - CK + CL + BURST);
    // A read issued just before keeps the row open for tRTP; then PRE and refresh.
    assert_eq!(
        h.read_alone(2 * REFI + CK, at(0, 0, 3)),
        2 * REFI - CK + RTP + RP + RFC + RCD + CL + BURST
    );
    // After a hundred idle periods, in the middle of a period: rows are closed, nothing else is left of them.
    let late = 102 * REFI + REFI / 2;
    assert_eq!(h.read_alone(late, at(0, 0, 4)), late + RCD + CL + BURST);
    assert_eq!(h.c.stats().refreshes, 102);
    // After as many again, in the middle of a refresh that found every row closed.
    let _ = h.read_alone(203 * REFI + REFI / 2, at(0, 0, 5));
    let during = 305 * REFI + RFC / 2;
    assert_eq!(h.read_alone(during, at(3, 0, 5)), 305 * REFI + RFC + RCD + CL + BURST);
}

#[test]
fn closed_pages_precharge_after_every_access() {
    let m = MediaSpec {
        page: PagePolicy::Closed,
        ..media()
    };
    let mut h = harness(&m);
    let _ = h.read(0, at(0, 0, 0));
    let second = h.read(0, at(0, 0, 1));
    h.finish();
    // Auto-precharge at tRAS (beyond tRCD + tRTP), so the same row is opened again one tRC later.
    assert_eq!(h.read_time(second), RAS + RP + RCD + CL + BURST);
    assert_eq!(h.c.stats().row_misses, 2);
}

#[test]
fn static_latency_is_added_to_reads_and_to_forwarded_reads() {
    let spec = ControllerSpec {
        static_latency: Ps(7000),
        ..bare()
    };
    let mut h = Harness::new(&spec, &pcm(WritePolicy::Through));
    let _ = h.write(0, write(at(0, 0, 0), 1, None));
    h.run_until(0);
    assert_eq!(h.read_alone(5000, at(0, 0, 0)), 5000 + 7000);
    assert_eq!(h.c.stats().forwarded, 1);
    assert_eq!(h.read_alone(900_000, at(1, 0, 0)), 900_000 + 50_000 + CL + BURST + 7000);
}

#[test]
fn commands_wait_for_clock_edges() {
    let mut h = harness(&media());
    assert_eq!(h.read_alone(CK / 2, at(0, 0, 0)), CK + RCD + CL + BURST);
}

#[test]
fn named_media_keep_the_latencies_their_papers_state() {
    let alone = |word: &str, line: u64| {
        let mut h = harness(&MediaSpec::preset(word).unwrap());
        h.read_alone(0, line)
    };
    let stored = |word: &str| {
        let mut h = harness(&MediaSpec::preset(word).unwrap());
        let w = h.write(0, write(0, 1, None));
        h.finish();
        h.durable_time(w)
    };
    assert_eq!((alone("loc-nvm", 0), stored("loc-nvm")), (168_000, 168_000));
    // The array read ends between two clock edges, so it may seem longer by less than one clock.
    for (word, read) in [("themis-pcm", 346_000), ("nvm-2400", 150_000)] {
        let (interface, took) = (14_160 + 3332, alone(word, 0));
        assert!((0..833).contains(&(took - read - interface)), "{word}: {took}");
        assert_eq!(stored(word), interface + 500_000);
    }
    // Eight back-to-back lines of one row of the BROI DIMM after a conflict: 300 + 7 x 36 ns.
    let mut h = harness(&MediaSpec::preset("broi-nvm").unwrap());
    let banks = 8 * 32;
    let _ = h.write(0, write(banks, 1, None));
    h.finish();
    let ids: Vec<_> = (0..8).map(|c| h.write(1_000_000, write(c, 1, None))).collect();
    h.finish();
    let took = h.durable_time(ids[7]) - 1_000_000;
    assert!((545_000..560_000).contains(&took), "{took}");
    let spec = MediaSpec::preset("broi-nvm").unwrap();
    let mut h = harness(&spec);
    let _ = h.read_alone(0, 0);
    assert_eq!(h.read_alone(1_000_000, 1), 1_036_000);
    let conflict = h.read_alone(2_000_000, banks) - 2_000_000;
    assert!((99_000..=101_000).contains(&conflict), "{conflict}");
}
