//! Order on random traffic: every rule of epochs and lines checked at every event.

use super::util::*;
use fencepost_kernel::{LineAddr, Ps, Stream};
use fencepost_machine::memory::*;
use fencepost_machine::seam::{Epoch, QueuePlan, Write, WriteId};
use std::collections::BTreeMap;

fn pcm() -> MediaSpec {
    MediaSpec::preset("pcm").unwrap()
}
fn plan(queues: u8, each: u16, ordered_issue: bool) -> QueuePlan {
    QueuePlan {
        queues,
        entries_each: Some(each),
        ordered_issue,
        ..QueuePlan::default()
    }
}

/// Random writes and reads, pushed whenever an entry is free; every rule checked at every event.
struct Traffic {
    rng: Stream,
    h: Harness,
    /// Pushed and not durable: id to (queue, epoch joined, line).
    pending: BTreeMap<u64, (u8, Option<Epoch>, u64)>,
    /// Per line, the pushed values that are not durable, oldest first.
    line_order: BTreeMap<u64, Vec<u64>>,
    seen: usize,
    records: u64,
    /// Whether a write became durable before an older write of the same or no epoch: reordering really happens.
    reordered: bool,
}
impl Traffic {
    fn new(seed: u64, spec: &ControllerSpec, media: &MediaSpec, plan: &QueuePlan) -> Traffic {
        Traffic {
            rng: Stream::new(seed, "memory-traffic"),
            h: Harness::with_plan(spec, media, plan),
            pending: BTreeMap::new(),
            line_order: BTreeMap::new(),
            seen: 0,
            records: 0,
            reordered: false,
        }
    }
    /// Pushes one random write; `epoch` gives the epoch for a queue.
    fn push(&mut self, now: u64, queues: u8, epoch: impl FnOnce(&mut Stream, &mut Controller, u8) -> Option<Epoch>) {
        let queue = self.rng.below(queues.into()) as u8;
        let epoch = epoch(&mut self.rng, &mut self.h.c, queue);
        let line = self.rng.below(24) * 40 + u64::from(queue) * 10_000;
        let id = self.h.id();
        let w = Write {
            queue,
            delay: Ps(self.rng.below(3) * 15_000),
            epoch,
            ..write(line, id, None)
        };
        let joined = epoch.map(|e| e.max(self.h.c.active_epoch(queue)));
        if self.h.c.push_write(Ps(now), WriteId(id), w).is_ok() {
            self.pending.insert(id, (queue, joined, line));
            self.line_order.entry(line).or_default().push(id);
        }
    }
    fn check(&mut self, strict: bool) {
        let (from, mut last) = (self.seen, None);
        self.seen = self.h.events.len();
        for i in from..self.seen {
            let (_, event) = self.h.events[i];
            match event {
                MemEvent::Accepted { id, write } => {
                    assert_eq!(write.epoch, self.pending[&id.0].1, "joined max(named, active) epoch");
                }
                MemEvent::Durable { id, write, record } => {
                    let (queue, epoch, line) = self.pending.remove(&id.0).expect("durable once, after it was pushed");
                    self.records += u64::from(record);
                    if record {
                        last = Some(id.0);
                    }
                    // Merged writes carry the bytes of the newest of them.
                    assert!(write.data.words[0] >= id.0 && last <= Some(id.0));
                    let order = self.line_order.get_mut(&line).unwrap();
                    assert_eq!(order.remove(0), id.0, "writes to a line become durable in order");
                    for (other, o) in &self.pending {
                        if o.0 == queue && o.1.is_some() && epoch.is_some() {
                            let overtook = if strict {
                                o.1 < epoch
                            } else {
                                o.1 < epoch && *other < id.0
                            };
                            assert!(!overtook, "write {id:?} of {epoch:?} overtook {other} of {:?}", o.1);
                        }
                        self.reordered |= *other < id.0;
                    }
                }
                _ => {}
            }
        }
    }
    fn run(
        mut self,
        rounds: u64,
        queues: u8,
        strict: bool,
        epoch: fn(&mut Stream, &mut Controller, u8) -> Option<Epoch>,
    ) -> (u64, bool) {
        let mut now = 0;
        for _ in 0..rounds {
            now += self.rng.below(60) * 1000;
            self.h.run_until(now);
            self.check(strict);
            for _ in 0..=self.rng.below(6) {
                self.push(now, queues, epoch);
            }
            if self.rng.chance(1, 3) {
                let id = self.h.id();
                let line = LineAddr(self.rng.below(2000));
                let _ = self.h.c.push_read(Ps(now), ReadId(id), line);
            }
        }
        self.h.finish();
        self.check(strict);
        assert!(self.pending.is_empty(), "every write became durable");
        // Whoever runs traffic must see that there was enough of it, and that some was reordered.
        (self.records, self.reordered)
    }
}

/// Closes the epoch now and then; sometimes names none, sometimes an epoch between the active and the open one.
fn merged_epochs(rng: &mut Stream, c: &mut Controller, queue: u8) -> Option<Epoch> {
    if rng.chance(1, 4) {
        c.end_epoch(queue);
    }
    let (active, open) = (c.active_epoch(queue), c.open_epoch(queue));
    match rng.below(4) {
        0 => None,
        1 => Some(Epoch(active.0 + rng.below(open.0 - active.0 + 3))),
        2 => Some(active),
        _ => Some(open),
    }
}
/// Only ever the open epoch, closed now and then.
fn open_epochs(rng: &mut Stream, c: &mut Controller, queue: u8) -> Option<Epoch> {
    if rng.chance(1, 4) {
        c.end_epoch(queue);
    }
    rng.chance(9, 10).then(|| c.open_epoch(queue))
}

#[test]
fn epochs_and_lines_keep_their_order_on_random_traffic() {
    let row_column_bank = MediaSpec {
        mapping: Mapping::RowColumnBank,
        ..pcm()
    };
    let media = [
        pcm(),
        row_column_bank,
        MediaSpec::preset("fgc-pcm").unwrap(),
        MediaSpec::preset("broi-nvm").unwrap(),
        MediaSpec::preset("ddr4-2400").unwrap(),
    ];
    let (mut records, mut reordered) = (0, 0);
    for seed in 0..40 {
        for (i, m) in media.iter().enumerate() {
            let (queues, each) = [(1, 32), (2, 8), (4, 4), (3, 2)][seed as usize % 4];
            let spec = ControllerSpec {
                coalesce: seed % 3 != 0,
                slot_freed: if seed % 5 == 0 {
                    SlotFreed::Issue
                } else {
                    SlotFreed::Done
                },
                rows_ahead: seed % 2 == 0,
                ..bare()
            };
            let plan = plan(queues, each, false);
            let t = Traffic::new(seed * 10 + i as u64, &spec, m, &plan);
            let (r, o) = t.run(250, queues, true, merged_epochs);
            records += r;
            reordered += u64::from(o);
        }
    }
    assert!(
        records > 200 * 100 && reordered > 150,
        "{records} records, {reordered} runs reordered"
    );
}

#[test]
fn ordered_issue_overlaps_epochs_but_none_overtakes() {
    let mut faster = 0;
    for seed in 0..40 {
        let t = Traffic::new(seed, &bare(), &pcm(), &plan(1, 32, true));
        let (records, reordered) = t.run(250, 1, false, open_epochs);
        assert!(records > 100 && reordered, "seed {seed}: {records} records");
        // Eight epochs of one write each, on different banks: the pulses overlap.
        let time = |ordered| {
            let mut h = Harness::with_plan(&bare(), &pcm(), &plan(1, 32, ordered));
            for i in 0..8 {
                let _ = h.write(0, write(i * 128, i, Some(i)));
            }
            h.finish();
            assert_eq!(
                h.durable().iter().map(|d| d.0).collect::<Vec<_>>(),
                (0..8).collect::<Vec<_>>()
            );
            h.events.last().unwrap().0
        };
        faster += u64::from(time(true) < time(false));
    }
    assert_eq!(faster, 40);
}
