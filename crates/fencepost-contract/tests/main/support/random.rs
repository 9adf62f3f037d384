//! Random small programs.

use super::{Guarded, Op, Shape, Value};
use fencepost_kernel::{Fence, Flush, Stream};

/// What a random program may contain.
#[derive(Clone, Debug)]
pub(crate) struct Menu {
    pub threads: usize,
    pub ops: usize,
    pub locations: &'static [&'static str],
    pub fences: &'static [Fence],
    pub flushes: &'static [Flush],
    pub nt: bool,
    pub rmw: bool,
    /// Some stores execute only if the newest load read a certain value.
    pub guards: bool,
    /// Some stores store what the newest load read: states no longer tell all stores apart.
    pub copies: bool,
}

/// A program from the menu. Every store writes a value of its own (so that states tell stores apart), below 10.
pub(crate) fn shape(menu: &Menu, rng: &mut Stream) -> Shape {
    let mut next = 0;
    let threads = (0..menu.threads).map(|_| {
        let n = 1 + rng.below(menu.ops as u64);
        (0..n).map(|_| guarded(menu, rng, &mut next)).collect()
    });
    let threads = threads.collect();
    Shape {
        locations: menu.locations.iter().map(|l| (*l).to_owned()).collect(),
        threads,
    }
}

/// A message: one thread stores and sets a flag; another that has seen the flag flushes, orders, and stores what should not be durable
/// alone. Places and what stands between are drawn: by lot such a program comes once in a hundred thousand.
pub(crate) fn message(menu: &Menu, rng: &mut Stream) -> Shape {
    let place = |rng: &mut Stream| rng.below(menu.locations.len() as u64) as usize;
    let (data, flag, last) = (place(rng), place(rng), place(rng));
    let between = |rng: &mut Stream| -> Option<Op> {
        match rng.below(3) {
            0 => Some(Op::Fence(menu.fences[rng.below(menu.fences.len() as u64) as usize])),
            1 if !menu.flushes.is_empty() => Some(Op::Flush {
                loc: data,
                kind: menu.flushes[rng.below(menu.flushes.len() as u64) as usize],
            }),
            _ => None,
        }
    };
    let store = |rng: &mut Stream, loc, value| Op::Store {
        loc,
        value: Value::Const(value),
        nt: menu.nt && rng.chance(1, 4),
    };
    let always = |op| Guarded { when: None, op };
    let mut sends = vec![store(rng, data, 1)];
    sends.extend(between(rng));
    sends.push(store(rng, flag, 2));
    let mut receives = vec![Op::Load { reg: 0, loc: flag }];
    receives.extend((0..3).filter_map(|_| between(rng)));
    let mut receives: Vec<Guarded> = receives.into_iter().map(always).collect();
    receives.push(Guarded {
        when: rng.chance(3, 4).then_some((0, 2)),
        op: store(rng, last, 3),
    });
    Shape {
        locations: menu.locations.iter().map(|l| (*l).to_owned()).collect(),
        threads: vec![sends.into_iter().map(always).collect(), receives],
    }
}
/// Either.
pub(crate) fn shape_or_message(menu: &Menu, rng: &mut Stream) -> Shape {
    match rng.chance(1, 3) {
        true => message(menu, rng),
        false => shape(menu, rng),
    }
}

fn guarded(menu: &Menu, rng: &mut Stream, next: &mut u64) -> Guarded {
    let op = op(menu, rng, next);
    let store = matches!(op, Op::Store { .. });
    let when = (menu.guards && store && rng.chance(1, 2)).then(|| (0, 1 + rng.below(4)));
    Guarded { when, op }
}

fn op(menu: &Menu, rng: &mut Stream, next: &mut u64) -> Op {
    let loc = rng.below(menu.locations.len() as u64) as usize;
    let mut value = || {
        *next += 1;
        *next
    };
    let pick = |n: usize, rng: &mut Stream| rng.below(n as u64) as usize;
    match rng.below(10) {
        0..4 => Op::Store {
            loc,
            value: match menu.copies && rng.chance(1, 4) {
                true => Value::Reg(0),
                false => Value::Const(value()),
            },
            nt: menu.nt && rng.chance(1, 3),
        },
        4..6 => Op::Load { reg: 0, loc },
        6 if menu.rmw => Op::Rmw { loc, value: value() },
        6 | 7 if !menu.flushes.is_empty() => Op::Flush {
            loc,
            kind: menu.flushes[pick(menu.flushes.len(), rng)],
        },
        _ => Op::Fence(menu.fences[pick(menu.fences.len(), rng)]),
    }
}
