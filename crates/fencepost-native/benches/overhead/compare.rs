//! Both loops in turn, on the same entries, log and locks: where memory lies cannot favour one of them.

use super::by_hand::{ENTRIES, LOCKS, Memory};
use fencepost_kernel::{Addr, Build, Flavour, Mem, Mode, Pm, Program, Shape, run_batch};
use fencepost_native::x86::addresses::host;
use fencepost_native::x86::choice::{BASELINE, IDEAL};
use fencepost_native::x86::file::PmFile;
use fencepost_native::x86::mapping::Mapping;
use fencepost_native::x86::memory::{Choice, Native, Raw};
use fencepost_native::x86::pinned::{cpus, pin};
use fencepost_native::{FlushWith, NativeError, Times};
use fencepost_programs::Settings;
use fencepost_programs::settings::Described;
use fencepost_programs::sps::Sps;
use std::time::Instant;

/// The inline undo log in an array, a record and a fence for each store; or without those fences, as its memory is told: there, instructions
/// count that otherwise hide behind them.
struct Inline;
impl Choice for Inline {
    const FIXED: Option<&'static Build> = Some(&Build {
        dialect: BASELINE,
        mode: Mode::Undo {
            flavour: Flavour::Inline,
            shape: Shape::Array,
            grouped: false,
        },
    });
}

const BATCH: u32 = 100;
const WARM_UP: u32 = 50;
const ROUNDS: u32 = 1000;
/// The loops of a round: ours and that by hand, with the fences and without.
const SIDES: u32 = 4;

type Swaps = [<Sps as Program>::Input];

#[inline(never)]
fn ours<M: Mem>(sps: &Sps, pm: &mut Pm<'_, M>, from: u32, swaps: &Swaps) -> f64 {
    let begun = Instant::now();
    run_batch(sps, pm, 0, from, swaps);
    begun.elapsed().as_nanos() as f64
}
#[inline(never)]
fn by_hand<const FENCED: bool>(hand: &mut Memory, pairs: &[(u64, u64)]) -> f64 {
    let begun = Instant::now();
    for pair in pairs {
        // SAFETY: `compare` made it from what the program has, which is mapped, and has asked for clwb.
        unsafe { hand.swap::<FENCED>(*pair) };
    }
    begun.elapsed().as_nanos() as f64
}

/// Times all four loops and prints how the two of a kind compare.
pub(crate) fn compare() -> Result<(), NativeError> {
    let flush = FlushWith::found(&[])?;
    if flush != FlushWith::Clwb {
        return Err(NativeError::Refused(
            "the loop by hand uses clwb, which this CPU lacks".into(),
        ));
    }
    let settings = Settings {
        ops: SIDES * BATCH * (WARM_UP + ROUNDS),
        ..Settings::default()
    };
    let sps = Sps::checked(&settings)?;
    let size = sps.footprint();
    let file = PmFile::create(None, size.pm.0)?;
    let mapping = Mapping::new(size, Some(&file))?;
    mapping.touch();
    // SAFETY: `mapping` lives until the end; the CPU has the instruction.
    let raw = unsafe { Raw::new(flush) };
    let (mut fenced, mut unfenced) = (Native::<Inline>::new(raw, true), Native::<Inline>::new(raw, false));
    sps.setup(&mut fenced);
    let (ranges, cells) = (sps.ranges(0), sps.resident()[0]);
    assert_eq!(
        (cells.len, size.dram.0 >= LOCKS * 64),
        (ENTRIES * 64, true),
        "as the loop by hand has it"
    );
    let mut hand = Memory {
        log: host(ranges[0].at),
        cells: host(cells.at),
        locks: host(Addr(size.dram.0 - LOCKS * 64)),
        seq: 0,
    };
    let (mut fenced, mut unfenced) = (Pm::new(&mut fenced, BASELINE), Pm::new(&mut unfenced, IDEAL));
    // SAFETY: the entries are mapped.
    let sum = unsafe { hand.sum() };
    pin(&cpus(), 0);
    let mut rounds: Vec<[f64; SIDES as usize]> = Vec::new();
    for round in 0..WARM_UP + ROUNDS {
        let mut ns = [0.0; SIDES as usize];
        for turn in 0..SIDES {
            // Which goes first changes, and so does which goes before which.
            let turn = if (round / SIDES).is_multiple_of(2) {
                turn
            } else {
                SIDES - turn
            };
            let side = (turn + round) % SIDES;
            let from = BATCH * (round * SIDES + side);
            let swaps: Vec<_> = (from..from + BATCH).map(|k| sps.input(0, k)).collect();
            let pairs: Vec<(u64, u64)> = swaps.iter().map(|i| i.as_slice()[0]).collect();
            ns[side as usize] = match side {
                0 => ours(&sps, &mut fenced, from, &swaps),
                1 => by_hand::<true>(&mut hand, &pairs),
                2 => ours(&sps, &mut unfenced, from, &swaps),
                _ => by_hand::<false>(&mut hand, &pairs),
            } / f64::from(BATCH);
        }
        if round >= WARM_UP {
            rounds.push(ns);
        }
    }
    // SAFETY: as above.
    assert_eq!(sum, unsafe { hand.sum() }, "both swap");
    println!(
        "swaps of two lines, inline undo log, on a file of {}",
        file.describe(mapping.map_sync()).file_system
    );
    for (kind, what) in ["with fences", "without fences between log and data"]
        .iter()
        .enumerate()
    {
        let of = |side: usize| Times::of(rounds.iter().map(|r| r[side]).collect());
        let (ours, hand) = (of(2 * kind), of(2 * kind + 1));
        let ratios = Times::of(rounds.iter().map(|r| r[2 * kind] / r[2 * kind + 1]).collect());
        println!(
            "{what}: {:.1} ns a swap, by hand {:.1}: ratio of the fastest {:.3}, median ratio {:.3}",
            ours.min,
            hand.min,
            ours.min / hand.min,
            ratios.median
        );
    }
    Ok(())
}
