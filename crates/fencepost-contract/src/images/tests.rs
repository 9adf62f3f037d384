//! The images handed out against brute force over all sets of stores.

mod contradictions;

use super::{Answer, ImageJob, ImageWitness, Images, Next, Smallest, find_smallest};
use crate::graph::{CrashSpace, Grain, NodeId};
use crate::{Contract, ContractKind, recorded};
use fencepost_kernel::{StoreId, Stream};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

type Bytes = BTreeMap<u64, u64>;

/// A log of two threads with random stores, flushes and fences to three words of two lines.
fn random_log(seed: u64, marks: bool) -> String {
    let mut rng = Stream::new(seed, "images");
    let mut text = String::from("fencepost-log 1\n");
    for n in 0..8 {
        let (t, at) = (rng.below(2), [0u64, 8, 64][rng.below(3) as usize]);
        let line = match rng.below(6) {
            0..=2 => format!("{t} store pm+{at} {}", rng.below(3)),
            3 => format!("{t} nt pm+{at} {}", n + 10),
            4 => format!("{t} clwb pm+{at}"),
            _ => format!("{t} sfence"),
        };
        text += &format!("{line}\n");
        if marks && n == 4 {
            text += "0 begin 0\n0 ack 0\n";
        }
    }
    text
}

/// A failure point: what was begun and acknowledged by then, the stores, and the sets of them that may be durable, a bit for each.
struct Allowed {
    crash: String,
    stores: Vec<NodeId>,
    sets: Vec<u32>,
}
impl Allowed {
    /// Those of every failure point.
    fn all(space: &CrashSpace) -> Vec<Allowed> {
        let graph = &space.graph;
        let stores: Vec<NodeId> = graph.nodes().filter(|n| !graph.is_barrier(*n)).collect();
        let of_point = |(point, cut): (&crate::graph::FailurePoint, crate::graph::Cut)| {
            let allowed = |set: &u32| {
                let is_in = |n: NodeId| stores.iter().position(|s| *s == n).is_some_and(|i| set >> i & 1 == 1);
                // Closed under "must be durable before", which may lead through barriers.
                let closed = stores.iter().filter(|n| is_in(**n)).all(|n| {
                    let earlier = stores.iter().filter(|m| graph.is_before(**m, *n));
                    earlier.into_iter().all(|m| is_in(*m))
                });
                let mut all = stores.iter();
                closed && all.all(|n| if is_in(*n) { !cut.is_out(*n) } else { !cut.is_in(*n) })
            };
            Allowed {
                crash: format!("{:?}", point.crash),
                sets: (0u32..1 << stores.len()).filter(allowed).collect(),
                stores: stores.clone(),
            }
        };
        space.cuts().map(of_point).collect()
    }
    fn image(&self, space: &CrashSpace, set: u32) -> (String, Bytes) {
        let durable = self.stores.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        let writes = durable.flat_map(|(_, n)| space.graph.writes(*n));
        let mut image: Bytes = writes.map(|w| (w.at.0, w.value)).collect();
        image.retain(|_, v| *v != 0);
        (self.crash.clone(), image)
    }
}

/// Every (begun and acknowledged, image) that the space allows, and the number of (failure point, set) pairs.
fn brute_force(space: &CrashSpace) -> (BTreeSet<(String, Bytes)>, u128) {
    let points = Allowed::all(space);
    let images = points
        .iter()
        .flat_map(|p| p.sets.iter().map(|set| p.image(space, *set)));
    let states = points.iter().map(|p| p.sets.len() as u128).sum();
    (images.collect(), states)
}
fn bytes(job: &ImageJob) -> (String, Bytes) {
    let base = fencepost_kernel::Addr::pm(0).0;
    let image = job.words.iter().map(|(o, v)| (base + o, *v)).collect();
    (format!("{:?}", job.crash), image)
}
fn survived() -> Answer {
    Answer::default()
}

#[test]
fn every_image_is_handed_out_once_and_every_state_is_counted() {
    for kind in [ContractKind::Px86, ContractKind::None, ContractKind::StrictTso] {
        for seed in 0..60 {
            let log = recorded::parse(&random_log(seed, seed % 2 == 0)).unwrap();
            let space = Contract::from(kind).space(&log.trace, &log.initial);
            let (images, states) = brute_force(&space);
            let (mut search, mut seen) = (Images::new(&space, false), BTreeSet::new());
            while let Next::Run(job) = search.next_image() {
                assert!(seen.insert(bytes(&job)), "{kind:?} {seed}: handed out twice");
                search.answer(&job, &survived());
            }
            assert_eq!(seen, images, "{kind:?} {seed}");
            let p = search.progress();
            assert_eq!(
                (p.covered, p.total, p.complete),
                (states, Some(states), true),
                "{kind:?} {seed}"
            );
        }
    }
}

/// By the time that one deviation is said to be covered, every store that may be lost was lost alone, with what cannot be durable without it,
/// and every store that may be durable was durable alone, with what it needs.
#[test]
fn each_store_is_lost_alone_and_durable_alone_before_everything_else() {
    let mut told = 0;
    for seed in 0..60 {
        let log = recorded::parse(&random_log(seed, false)).unwrap();
        let space = Contract::from(ContractKind::None).space(&log.trace, &log.initial);
        let (mut search, mut seen) = (Images::new(&space, false), BTreeSet::new());
        while let Next::Run(job) = search.next_image() {
            if search.progress().deviations == Some(1) {
                break;
            }
            seen.insert(bytes(&job));
            search.answer(&job, &survived());
        }
        for point in Allowed::all(&space) {
            for store in 0..point.stores.len() {
                let has = |set: &&u32| **set >> store & 1 == 1;
                let without = point.sets.iter().filter(|s| !has(s)).copied().reduce(|a, b| a | b);
                let with = point.sets.iter().filter(has).copied().reduce(|a, b| a & b);
                for set in with.into_iter().chain(without) {
                    told += 1;
                    assert!(seen.contains(&point.image(&space, set)), "{seed}: {set:b}");
                }
            }
        }
    }
    assert!(told > 500, "{told}");
}

/// A recovery that reads the first word, and the second only if the first is not zero: with reported reads each
/// combination of what it reads is run at least once, no violation is missed, and all states are covered.
#[test]
fn one_run_answers_for_all_images_that_agree_on_what_was_read() {
    for seed in 0..80 {
        let log = recorded::parse(&random_log(seed, false)).unwrap();
        let space = Contract::from(ContractKind::None).space(&log.trace, &log.initial);
        let (images, states) = brute_force(&space);
        let at = |image: &Bytes, offset: u64| image.get(&fencepost_kernel::Addr::pm(offset).0).copied().unwrap_or(0);
        let view = |image: &Bytes| (at(image, 0), if at(image, 0) != 0 { at(image, 64) } else { 0 });
        let (mut search, mut seen, mut runs) = (Images::new(&space, true), BTreeSet::new(), 0);
        while let Next::Run(job) = search.next_image() {
            let image = bytes(&job).1;
            seen.insert(view(&image));
            runs += 1;
            let mut reads = vec![(0, 8)];
            reads.extend((at(&image, 0) != 0).then_some((64, 8)));
            let answer = Answer {
                failed: None,
                reads: Some(reads),
                unknown: None,
            };
            assert!(search.answer(&job, &answer));
        }
        let wanted: BTreeSet<_> = images.iter().map(|i| view(&i.1)).collect();
        assert_eq!(seen, wanted, "{seed}");
        let p = search.progress();
        assert_eq!((p.covered, p.total), (states, Some(states)), "{seed}");
        assert!(runs <= images.len());
    }
}

/// Twelve lines without order: 4096 images, but one word read is one decision.
#[test]
fn what_recovery_does_not_read_costs_nothing() {
    let lines: String = (0..12).map(|i| format!("0 store pm+{} 1\n", i * 64)).collect();
    let log = recorded::parse(&format!("fencepost-log 1\n{lines}")).unwrap();
    let space = Contract::from(ContractKind::Px86).space(&log.trace, &log.initial);
    let mut search = Images::new(&space, true);
    let mut runs = 0;
    while let Next::Run(job) = search.next_image() {
        runs += 1;
        let answer = Answer {
            failed: None,
            reads: Some(vec![(5 * 64, 8)]),
            unknown: None,
        };
        search.answer(&job, &answer);
    }
    assert_eq!(search.progress().covered, 4096);
    // The word that is read is there or not, and no other state needs a run.
    assert_eq!(runs, 2);
}

/// Recovery reads from the first word on and stops at the first that is zero: whether that is said as one piece or as several, long or short,
/// it is one order, though the last word was stored first.
#[test]
fn a_range_is_read_from_its_first_word_on_in_one_piece_and_in_several() {
    let stores: String = (0..4).rev().map(|w| format!("0 store pm+{} 1\n", w * 64)).collect();
    let log = recorded::parse(&format!("fencepost-log 1\n{stores}")).unwrap();
    let space = Contract::from(ContractKind::None).space(&log.trace, &log.initial);
    let mut search = Images::new(&space, true);
    let mut seen = BTreeSet::new();
    while let Next::Run(job) = search.next_image() {
        let image = bytes(&job).1;
        let there = |w: &u64| image.get(&fencepost_kernel::Addr::pm(w * 64).0).copied() == Some(1);
        let read = 4.min(1 + (0..4).take_while(there).count() as u64);
        seen.insert(read);
        // A piece may reach far behind what was stored.
        let reads = match read {
            4 => vec![(0, 4096)],
            n => (0..n).map(|w| (w * 64, 8)).collect(),
        };
        let answer = Answer {
            failed: None,
            reads: Some(reads),
            unknown: None,
        };
        assert!(search.answer(&job, &answer), "{image:?}");
    }
    assert_eq!(seen, (1..=4).collect());
    assert_eq!(search.progress().covered, 16);
}

/// The smallest failing state by brute force over all sets, and the search for it from any failing state.
#[test]
fn the_witness_is_as_small_as_brute_force_finds() {
    let fails = |image: &Bytes| {
        let at = |offset: u64| image.get(&fencepost_kernel::Addr::pm(offset).0).copied().unwrap_or(0);
        at(64) != 0 && at(8) == 0
    };
    let (mut found, mut smaller, mut others) = (0, 0, 0);
    for seed in 0..120 {
        let log = recorded::parse(&random_log(seed, false)).unwrap();
        let space = Contract::from(ContractKind::Px86).space(&log.trace, &log.initial);
        let mut search = Images::new(&space, false);
        let mut first: Option<ImageWitness> = None;
        while let Next::Run(job) = search.next_image() {
            search.answer(&job, &survived());
            if !fails(&bytes(&job).1) {
                continue;
            }
            let run = |j: &ImageJob| {
                let failed = fails(&bytes(j).1).then(|| "flag without record".to_owned());
                let answer = Answer {
                    failed,
                    ..Answer::default()
                };
                Ok::<_, Infallible>(Some(answer))
            };
            let Ok(witness) = Smallest::new(&space, &job, run).find(&job, "");
            let Ok(of_all) = find_smallest(&space, &job, "", |_| 0, run);
            let least = |point: usize| smallest_by_brute_force(&space, point, fails);
            let least_of_all = (0..space.points.len()).filter_map(least).min();
            for (w, least) in [(&witness, least(job.point)), (&of_all, least_of_all)] {
                assert!(w.smallest);
                assert_eq!(Some(w.deviating().len()), least, "{seed}");
                let (words, _) = ImageJob::replay(&space, &w.id).unwrap();
                assert_eq!(words, w.words);
            }
            smaller += u32::from(of_all.deviating().len() < witness.deviating().len());
            // Among states of one size, one that names a store that is wanted, if there is any.
            let unwanted = |stores: &[StoreId]| u32::from(!stores.contains(&StoreId::from_index(0).unwrap()));
            let Ok(wanted) = find_smallest(&space, &job, "", unwanted, run);
            assert_eq!(Some(wanted.deviating().len()), least_of_all);
            found += 1;
            // Whichever image fails first, the witness is the same.
            let first = first.get_or_insert_with(|| of_all.clone());
            assert_eq!(first.id, of_all.id, "{seed}");
            others += u32::from(first.words != witness.words);
        }
    }
    assert!(found > 10 && smaller > 0 && others > 0, "{found} {smaller} {others}");
}
/// Where the effort ends early, what is called the smallest is.
#[test]
fn an_effort_that_ends_early_proves_no_more_than_it_tried() {
    let fails = |image: &Bytes| {
        let at = |offset: u64| image.get(&fencepost_kernel::Addr::pm(offset).0).copied().unwrap_or(0);
        at(64) != 0 && at(8) == 0
    };
    let mut cut_short = 0;
    for seed in 0..60 {
        let log = recorded::parse(&random_log(seed, false)).unwrap();
        let space = Contract::from(ContractKind::Px86).space(&log.trace, &log.initial);
        let least = (0..space.points.len()).filter_map(|p| smallest_by_brute_force(&space, p, fails));
        let Some(least) = least.min() else { continue };
        let mut search = Images::new(&space, false);
        let handed_out = std::iter::from_fn(|| match search.next_image() {
            Next::Run(job) => {
                search.answer(&job, &survived());
                Some(job)
            }
            Next::Wait | Next::Done => None,
        });
        // One that is found late: the first ones deviate least.
        let job = handed_out.filter(|j| fails(&bytes(j).1)).last();
        let job = job.expect("brute force has one");
        for effort in 0.. {
            let mut left = effort;
            let run = |j: &ImageJob| {
                let failed = fails(&bytes(j).1).then(|| "flag without record".to_owned());
                let answer = Answer {
                    failed,
                    ..Answer::default()
                };
                left -= i32::from(left > 0);
                Ok::<_, Infallible>((left > 0).then_some(answer))
            };
            let Ok(witness) = find_smallest(&space, &job, "", |_| 0, run);
            assert!(
                !witness.smallest || witness.deviating().len() == least,
                "{seed}, {effort}"
            );
            if left > 0 {
                assert!(witness.smallest, "{seed}, {effort}");
                break;
            }
            cut_short += u32::from(witness.deviating().len() > least);
        }
    }
    assert!(cut_short > 50, "{cut_short}");
}
fn smallest_by_brute_force(space: &CrashSpace, point: usize, fails: impl Fn(&Bytes) -> bool) -> Option<usize> {
    let (_, cut) = space.cuts().nth(point).unwrap();
    let graph = &space.graph;
    let open: Vec<NodeId> = cut.free_nodes(graph).filter(|n| !graph.is_barrier(*n)).collect();
    let sets = (0u32..1 << open.len()).filter(|set| {
        let is_in = |n: NodeId| match open.iter().position(|s| *s == n) {
            Some(i) => set >> i & 1 == 1,
            None => cut.is_in(n),
        };
        let closed = open.iter().filter(|n| is_in(**n));
        let closed = closed.flat_map(|n| {
            graph
                .nodes()
                .filter(|m| graph.is_before(*m, *n) && !graph.is_barrier(*m))
        });
        let (closed, mut image) = (closed.into_iter().all(is_in), Bytes::new());
        for n in graph.nodes().filter(|n| is_in(*n)) {
            image.extend(graph.writes(n).iter().map(|w| (w.at.0, w.value)));
        }
        closed && fails(&image)
    });
    let sets: Vec<usize> = sets.map(|s| s.count_ones() as usize).collect();
    match sets.contains(&open.len()) {
        true => sets.into_iter().min(),
        // What tells is what is lost, or what is durable, if anything is.
        false => sets
            .into_iter()
            .map(|n| if n == 0 { open.len() } else { n.min(open.len() - n) })
            .min(),
    }
}

#[test]
fn at_byte_grain_a_word_may_be_torn() {
    let log = recorded::parse("fencepost-log 1\n0 store pm+0 0x0101\n").unwrap();
    let mut contract = Contract::from(ContractKind::None);
    contract.params.grain = Grain::Byte;
    let space = contract.space(&log.trace, &log.initial);
    let (mut search, mut seen) = (Images::new(&space, false), BTreeSet::new());
    while let Next::Run(job) = search.next_image() {
        seen.insert(job.words.first().map_or(0, |w| w.1));
        search.answer(&job, &survived());
    }
    assert_eq!(seen, BTreeSet::from([0, 1, 0x0100, 0x0101]));
}
