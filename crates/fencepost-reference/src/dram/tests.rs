//! Every rule at its distance, and one clock nearer.

use super::*;

/// Times that no two rules share, in clocks of 100 ps.
const TABLE: Table = Table {
    geometry: Geometry {
        channels: 1,
        ranks: 2,
        groups: 2,
        banks: 2,
    },
    rows: Rows::Closed,
    tCK: 100,
    tCL: 1100,
    tCWL: 900,
    tBL: 400,
    tRCD: 1300,
    tRAS: 2900,
    tRC: 4700,
    tRP: 1700,
    tRTP: 700,
    tWR: 1500,
    tRRD_S: 500,
    tRRD_L: 600,
    tFAW: 3100,
    tCCD_S: 410,
    tCCD_L: 800,
    tCCD_bank: 0,
    tWTR_S: 300,
    tWTR_L: 1000,
    tRTW: 200,
    tRTRS: 300,
    tREFI: 100_000,
    tRFC: 20_000,
    write_pulse: 0,
};

/// Rank, bank group, bank.
type Place = (u16, u16, u16);
const HERE: Place = (0, 0, 0);
const NEIGHBOUR: Place = (0, 0, 1);
const OTHER_GROUP: Place = (0, 1, 0);
const OTHER_RANK: Place = (1, 0, 0);

fn at(cycle: u64, kind: Kind, (rank, group, bank): Place) -> Command {
    Command {
        cycle,
        kind,
        channel: 0,
        rank,
        group,
        bank,
        row: 7,
        column: 0,
    }
}
fn rules(t: &Table, commands: &[Command]) -> Vec<&'static str> {
    judge(t, commands).violations.iter().map(|v| v.rule).collect()
}
/// The last command is right where it is, and one clock earlier breaks this rule alone.
fn binds(t: &Table, rule: &str, mut commands: Vec<Command>) {
    assert_eq!(rules(t, &commands), [""; 0], "{rule} is kept");
    commands.last_mut().expect("a command").cycle -= 1;
    assert_eq!(rules(t, &commands), [rule], "{rule} is broken by a clock");
}

#[test]
fn every_rule_of_the_standard_is_kept_at_its_distance_and_broken_a_clock_before() {
    use Kind::{Activate, Precharge, PrechargeAll, Read, ReadPrecharge, Refresh, Write, WritePrecharge};
    let t = &TABLE;
    let one = |rule, a: (Kind, Place), gap: u64, b: (Kind, Place)| {
        // Rows are open long before, and where the first command opens one itself, it does.
        let mut commands = Vec::new();
        if a.0 != Activate {
            commands.push(at(100, Activate, a.1));
        }
        if b.1 != a.1 && b.0 != Activate && !b.0.of_rank() {
            commands.push(at(110, Activate, b.1));
        }
        commands.push(at(200, a.0, a.1));
        commands.push(at(200 + gap, b.0, b.1));
        binds(t, rule, commands);
    };
    one("tRCD", (Activate, HERE), 13, (Read, HERE));
    one("tRCD", (Activate, HERE), 13, (Write, HERE));
    one("tRAS", (Activate, HERE), 29, (Precharge, HERE));
    one("tRAS", (Activate, HERE), 29, (PrechargeAll, NEIGHBOUR));
    one("tRP", (Precharge, HERE), 17, (Activate, HERE));
    one("tRP", (Precharge, HERE), 17, (Refresh, HERE));
    one("tRTP", (Read, HERE), 7, (Precharge, HERE));
    one("tWR", (Write, HERE), 9 + 4 + 15, (Precharge, HERE));
    one("tRRD_S", (Activate, HERE), 5, (Activate, OTHER_GROUP));
    one("tRRD_L", (Activate, HERE), 6, (Activate, NEIGHBOUR));
    one("tCCD_S", (Read, HERE), 5, (Read, OTHER_GROUP));
    one("tCCD_S", (Write, HERE), 5, (Write, OTHER_GROUP));
    one("tCCD_L", (Read, HERE), 8, (Read, NEIGHBOUR));
    one("tCCD_L", (Write, HERE), 8, (Write, NEIGHBOUR));
    one("tWTR_S", (Write, HERE), 9 + 4 + 3, (Read, OTHER_GROUP));
    one("tWTR_L", (Write, HERE), 9 + 4 + 10, (Read, NEIGHBOUR));
    one("tRTW", (Read, HERE), 11 + 4 + 2 - 9, (Write, NEIGHBOUR));
    one("tRTRS", (Read, HERE), 4 + 3, (Read, OTHER_RANK));
    one("tRTRS", (Write, HERE), 4 + 3, (Write, OTHER_RANK));
    one("tRTRS", (Write, HERE), 9 + 4 + 3 - 11, (Read, OTHER_RANK));
    // A bank that closes its row by itself does so at the end of tRTP or of write recovery, and of tRAS.
    one("tRP", (ReadPrecharge, HERE), 7 + 17, (Activate, HERE));
    one("tRP", (WritePrecharge, HERE), 9 + 4 + 15 + 17, (Activate, HERE));
    let early = vec![
        at(10, Activate, HERE),
        at(23, ReadPrecharge, HERE),
        at(10 + 29 + 17, Activate, HERE),
    ];
    binds(&Table { tRC: 0, ..TABLE }, "tRP", early);
    binds(t, "tRFC", vec![at(10, Refresh, HERE), at(210, Activate, OTHER_GROUP)]);
    binds(t, "tRFC", vec![at(10, Refresh, HERE), at(210, Refresh, HERE)]);
    let again = [at(10, Activate, HERE), at(39, Precharge, HERE), at(57, Activate, HERE)];
    binds(t, "tRC", again.to_vec());
    let four = [(10, HERE), (16, NEIGHBOUR), (22, OTHER_GROUP), (28, (0, 1, 1))];
    let mut five: Vec<Command> = four.map(|(cycle, place)| at(cycle, Activate, place)).into();
    five.push(at(39, Precharge, HERE));
    five.push(at(56, Activate, HERE));
    // Four rows within tFAW, and the fifth.
    binds(
        &Table {
            tRC: 0,
            tRP: 0,
            tFAW: 4600,
            ..TABLE
        },
        "tFAW",
        five,
    );
    let slow = Table {
        tCCD_bank: 1900,
        ..TABLE
    };
    binds(
        &slow,
        "tCCD_bank",
        vec![at(10, Activate, HERE), at(30, Read, HERE), at(49, Read, HERE)],
    );
    let pulse = Table {
        write_pulse: 6000,
        ..TABLE
    };
    let stored = 30 + 9 + 4 + 60;
    binds(
        &pulse,
        "write pulse",
        vec![at(10, Activate, HERE), at(30, Write, HERE), at(stored, Read, HERE)],
    );
    let bus = Table {
        tCCD_S: 0,
        tCCD_L: 0,
        ..TABLE
    };
    binds(
        &bus,
        "data bus",
        vec![at(10, Activate, HERE), at(30, Read, HERE), at(34, Read, HERE)],
    );
    binds(
        t,
        "command bus",
        vec![at(10, Activate, HERE), at(11, Activate, OTHER_RANK)],
    );
}

#[test]
fn rows_are_open_when_used_closed_when_refreshed_and_opened_once() {
    use Kind::{Activate, Read, ReadPrecharge, Refresh, Write};
    let t = &TABLE;
    let open = at(10, Activate, HERE);
    assert_eq!(rules(t, &[at(30, Read, HERE)]), ["row"], "no row is open");
    assert_eq!(
        rules(
            t,
            &[
                open,
                Command {
                    row: 8,
                    ..at(30, Write, HERE)
                }
            ]
        ),
        ["row"],
        "another row is open"
    );
    assert_eq!(
        rules(t, &[open, at(90, Activate, HERE)]),
        ["row"],
        "a row is open already"
    );
    assert_eq!(rules(t, &[open, at(90, Refresh, HERE)]), ["row"]);
    assert_eq!(
        rules(t, &[open, at(30, ReadPrecharge, HERE), at(60, Read, HERE)]),
        ["row"],
        "it closed behind"
    );
    assert_eq!(rules(t, &[open, at(90, Refresh, OTHER_RANK)]), [""; 0]);
    assert_eq!(rules(t, &[at(10, Activate, (0, 2, 0))]), ["place"]);
    assert_eq!(rules(t, &[Command { channel: 1, ..open }]), ["place"]);
}

#[test]
fn eight_refreshes_may_be_put_off_and_no_more() {
    let t = &TABLE;
    let used = |interval: u64| at(interval * 1000, Kind::Activate, HERE);
    assert_eq!(rules(t, &[used(8)]), [""; 0]);
    assert_eq!(rules(t, &[used(9)]), ["tREFI"]);
    let refreshed = at(500, Kind::Refresh, HERE);
    assert_eq!(rules(t, &[refreshed, used(9)]), [""; 0]);
    assert_eq!(rules(t, &[refreshed, used(10)]), ["tREFI"]);
    assert_eq!(rules(&Table { tREFI: 0, ..TABLE }, &[used(1000)]), [""; 0]);
}

#[test]
fn a_module_with_buffers_stores_bank_by_bank_and_takes_no_more_than_it_holds() {
    use Kind::{Activate, Read, Write};
    let t = &Table {
        rows: Rows::Buffered {
            entries: 2,
            pulse: 6000,
        },
        ..TABLE
    };
    // Two lines for one bank: stored one after the other, each for 60 clocks after its data (9 + 4).
    let two = [at(10, Write, HERE), at(18, Write, HERE)];
    let read = |cycle| [two[0], two[1], at(cycle, Activate, HERE), at(cycle + 20, Read, HERE)];
    assert_eq!(rules(t, &read(10 + 13 + 120)), [""; 0]);
    assert_eq!(rules(t, &read(10 + 13 + 119)), ["bank stores"]);
    let third = |cycle| [two[0], two[1], at(cycle, Write, OTHER_GROUP)];
    assert_eq!(rules(t, &third(10 + 13 + 60)), [""; 0]);
    assert_eq!(rules(t, &third(10 + 13 + 59)), ["write buffer"]);
    // The row buffer belongs to reads; the bus turns from writes to reads after tWTR.
    let opened = [
        at(10, Activate, NEIGHBOUR),
        at(30, Write, HERE),
        at(30 + 9 + 4 + 10 - 11, Read, NEIGHBOUR),
    ];
    binds(t, "tWTR_L", opened.to_vec());
    assert_eq!(rules(t, &[at(10, Read, HERE)]), ["row"]);
}

#[test]
fn a_bank_takes_its_accesses_apart_but_for_writes_that_a_module_buffers() {
    use Kind::{Activate, Read, Write};
    let closed = Table {
        tCCD_bank: 3600,
        ..TABLE
    };
    let buffered = Table {
        rows: Rows::Buffered { entries: 8, pulse: 0 },
        ..closed
    };
    // As far apart as the bus and its turning ask, not as the bank does.
    let near = |first, second| {
        let gap = if first == Write { 30 } else { 20 };
        [at(10, Activate, HERE), at(30, first, HERE), at(30 + gap, second, HERE)]
    };
    for (first, second) in [(Read, Read), (Read, Write), (Write, Write), (Write, Read)] {
        assert_eq!(
            rules(&closed, &near(first, second)),
            ["tCCD_bank"],
            "{first:?} {second:?}"
        );
        let wanted: &[&str] = if (first, second) == (Read, Read) {
            &["tCCD_bank"]
        } else {
            &[]
        };
        assert_eq!(rules(&buffered, &near(first, second)), wanted, "{first:?} {second:?}");
    }
}

#[test]
fn a_module_that_buffers_takes_writes_while_a_rank_refreshes() {
    use Kind::{Activate, PrechargeAll, Refresh, Write};
    let buffered = Table {
        rows: Rows::Buffered { entries: 8, pulse: 0 },
        ..TABLE
    };
    let refreshed = [at(10, Refresh, HERE), at(30, Write, HERE)];
    assert!(rules(&TABLE, &refreshed).contains(&"tRFC"));
    assert_eq!(rules(&buffered, &refreshed), [""; 0]);
    let opened = [at(10, Refresh, HERE), at(30, Activate, HERE)];
    assert_eq!(rules(&buffered, &opened), ["tRFC"], "its rows are those of any rank");
    let closed = [at(10, Activate, HERE), at(30, Write, HERE), at(43, PrechargeAll, HERE)];
    assert_eq!(rules(&TABLE, &closed), ["tWR"]);
    assert_eq!(rules(&buffered, &closed), [""; 0]);
}

/// Lines as DRAMsim3 writes them (`%-18d %-20s`, then numbers): a refresh names its rank alone.
const FOREIGN: &str = "\
10                 activate               0   0   1   1     0x1f      0x3
23                 read                   0   0   1   1     0x1f      0x3
39                 precharge             -1   0   1   1     -0x1     -0x1
56                 refresh               -1   0  -1  -1     -0x1     -0x1
256                activate               0   0   0   0      0x2      0x0
269                write_p                0   0   0   0      0x2      0x0
";

#[test]
fn traces_of_dramsim3_are_read_and_judged() {
    let trace = parse(FOREIGN).unwrap();
    assert_eq!(trace.lines, [1, 2, 3, 4, 5, 6]);
    let kinds: Vec<Kind> = trace.commands.iter().map(|c| c.kind).collect();
    use Kind::{Activate, Precharge, Read, Refresh, WritePrecharge};
    assert_eq!(kinds, [Activate, Read, Precharge, Refresh, Activate, WritePrecharge]);
    assert_eq!(trace.commands[1].row, 0x1f);
    assert_eq!(rules(&TABLE, &trace.commands), [""; 0]);
    // The same with a refresh that comes too early, and with an activate during it.
    let early = parse(&FOREIGN.replace("\n56 ", "\n55 ")).unwrap();
    assert_eq!(rules(&TABLE, &early.commands), ["tRP"]);
    let during = parse(&FOREIGN.replace("256 ", "255 ")).unwrap();
    assert_eq!(rules(&TABLE, &during.commands), ["tRFC"]);
    let other = parse(&FOREIGN.replace("  0   0   1   1", "  3   0   1   1")).unwrap();
    assert_eq!(other.commands[3].channel, 3, "the channel of the file");
}

#[test]
fn what_is_written_is_read_again_and_bad_lines_are_placed() {
    for (kind, word) in Kind::WORDS {
        assert_eq!(kind.word(), word);
        let c = Command {
            row: 0x12,
            column: 3,
            ..at(77, kind, OTHER_RANK)
        };
        let text = format!("# a note\n{c}\n");
        let read = parse(&text).unwrap();
        assert_eq!((read.commands, read.lines), (vec![c], vec![2]));
    }
    let bad = |line: &str| parse(&format!("{FOREIGN}{line}\n")).unwrap_err();
    let e = bad("300 activate 0 0 0 0 0x2");
    assert_eq!(e.span, FOREIGN.len()..FOREIGN.len() + 24);
    assert!(e.why.contains("eight fields"));
    assert!(
        bad("300 self_refresh_enter -1 0 -1 -1 -0x1 -0x1")
            .why
            .contains("self_refresh_enter")
    );
    assert!(bad("300 activate 0 0 0 0 2 0x0").why.contains("hexadecimal"));
    assert!(bad("300 activate 0 0 0 0 -0x1 0x0").why.contains("row"));
    assert!(bad("300 read 0 0 -1 0 0x2 0x0").why.contains("bank group"));
    assert!(bad("-5 read 0 0 0 0 0x2 0x0").why.contains("cycle"));
    assert!(bad("300 read 0 70000 0 0 0x2 0x0").why.contains("rank"));
}
