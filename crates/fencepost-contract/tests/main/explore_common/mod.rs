//! Random executions, a nosy recovery, and brute force over all closed sets: what the explorer is held to.
#![allow(dead_code)]

pub(crate) mod compare;
pub(crate) mod images;
pub(crate) mod lines;
pub(crate) mod sps;

use fencepost_contract::CrashSpace;
use fencepost_contract::explore::{CrashMem, Enumerated, ImageMem, Recovery, enumerate};
use fencepost_kernel::{
    Addr, At, CrashPoint, Fence, Flow, Flush, HwThread, Image, Mem, OpRecord, Outcome, QueueId, StoreId, StoreInfo,
    Stream, Trace, TraceKind, TxId, Val, Violation,
};
use std::panic::Location;

/// Words of two lines and more: neighbours on a line, and lines of their own.
pub(crate) fn word(i: u64) -> Addr {
    Addr::pm(i / 2 * 64 + i % 2 * 8)
}

/// A random execution of up to `stores` persistent stores by up to three threads.
pub(crate) fn random_trace(rng: &mut Stream, stores: usize, words: u64) -> Trace {
    let threads = 1 + rng.below(3) as usize;
    let mut b = Builder {
        trace: Trace {
            threads: threads as u32,
            ..Trace::default()
        },
        last: Default::default(),
    };
    let mut op = vec![0u32; threads];
    let mut tx: Vec<Option<TxId>> = vec![None; threads];
    let mut transactions = 0;
    b.push(
        0,
        TraceKind::Bind {
            base: word(0),
            len: 64,
            queue: QueueId(0),
        },
    );
    let mut written = 0;
    while written < stores {
        let t = rng.below(threads as u64) as usize;
        let at = word(rng.below(words));
        match rng.below(24) {
            0..=7 => {
                b.store(t, at, rng.below(4) + (rng.below(3) << 8), rng.chance(1, 5), tx[t]);
                written += 1;
            }
            8..=10 => b.push(
                t,
                TraceKind::Flush {
                    line: at.line(),
                    kind: *pick(rng, &FLUSHES),
                },
            ),
            11..=15 => b.push(t, TraceKind::Fence(*pick(rng, &FENCES))),
            16..=17 => b.load(t, at),
            18 => b.push(t, TraceKind::CommitQueue(QueueId(0))),
            19 => match tx[t].take() {
                Some(id) => b.push(t, TraceKind::TxCommit(id)),
                None => {
                    transactions += 1;
                    tx[t] = Some(TxId(transactions));
                    b.push(t, TraceKind::TxBegin(TxId(transactions)));
                }
            },
            20 if tx[t].is_none() => b.push(t, TraceKind::TxFlush),
            21 => {
                b.push(t, TraceKind::OpBegin(op[t]));
                op[t] += 1;
            }
            22 if op[t] > 0 => b.push(t, TraceKind::Ack(op[t] - 1)),
            _ => {}
        }
    }
    b.trace
}
const FLUSHES: [Flush; 3] = [Flush::Clwb, Flush::ClflushOpt, Flush::Clflush];
const FENCES: [Fence; 7] = [
    Fence::Sfence,
    Fence::Sfence,
    Fence::Mfence,
    Fence::Dmb,
    Fence::Pcommit,
    Fence::PersistBarrier,
    Fence::NewStrand,
];
fn pick<'a, T>(rng: &mut Stream, from: &'a [T]) -> &'a T {
    &from[rng.below(from.len() as u64) as usize]
}

struct Builder {
    trace: Trace,
    last: std::collections::BTreeMap<Addr, StoreId>,
}
impl Builder {
    fn push(&mut self, t: usize, kind: TraceKind) {
        self.trace.push(HwThread(t as u8), kind);
    }
    fn store(&mut self, t: usize, addr: Addr, value: u64, nt: bool, tx: Option<TxId>) {
        let id = StoreId::from_index(self.trace.stores.len()).unwrap();
        let (thread, source) = (HwThread(t as u8), Location::caller().into());
        self.trace.stores.push(StoreInfo {
            thread,
            addr,
            value,
            nt,
            tx,
            source,
        });
        self.last.insert(addr, id);
        self.push(t, TraceKind::Store(id));
    }
    fn load(&mut self, t: usize, addr: Addr) {
        let from = self.last.get(&addr).copied();
        self.push(t, TraceKind::Load { addr, from });
    }
}

/// A recovery that reads, copies, follows values as pointers, and in the end dislikes some of what it saw.
#[derive(Clone)]
pub(crate) struct Nosy {
    pub script: Vec<(u64, u64, u8)>,
    pub words: u64,
    /// Which final sum is bad.
    pub bad: u8,
}
pub(crate) type NosyState = (usize, u8);
impl Nosy {
    pub(crate) fn random(rng: &mut Stream, words: u64) -> Nosy {
        let script = (0..2 + rng.below(7))
            .map(|_| (rng.below(words), rng.below(words), rng.below(6) as u8))
            .collect();
        Nosy {
            script,
            words,
            bad: rng.below(16) as u8,
        }
    }
    /// What depends on the crash point: the number of acknowledged operations.
    pub(crate) fn first(crash: &CrashPoint) -> NosyState {
        (0, crash.acked.iter().sum::<u32>() as u8 & 15)
    }
    pub(crate) fn step_on<M: Mem<Dep = ()>>(&self, m: &mut M, state: NosyState) -> Flow<NosyState> {
        self.step_noting(m, state, &mut |_| {})
    }
    /// The same; `read` hears of every word that is loaded.
    pub(crate) fn step_noting<M: Mem<Dep = ()>>(
        &self,
        m: &mut M,
        (i, sum): NosyState,
        read: &mut impl FnMut(Addr),
    ) -> Flow<NosyState> {
        let Some(&(a, b, kind)) = self.script.get(i) else {
            return Flow::Done(if sum == self.bad {
                Err(Violation::at(word(0), "bad sum"))
            } else {
                Ok(())
            });
        };
        let at = |i: u64| At::new(word(i % self.words));
        let mut load = |m: &mut M, i: u64| {
            read(word(i % self.words));
            m.load(at(i)).v
        };
        let v = load(m, a);
        let low = (v ^ v >> 7) as u8;
        let sum = match kind {
            0 => sum.wrapping_add(low) & 15,
            1 => {
                m.store(at(b), Val::lit(v));
                sum
            }
            2 if v & 3 > 1 => sum ^ (load(m, b) as u8 & 15),
            3 => load(m, a + v + u64::from(sum)) as u8 & 15,
            4 if low == 0 => return Flow::Done(Ok(())),
            5 => {
                m.store_n(
                    At::new(word(b % self.words)),
                    Val::lit(u64::from(sum)),
                    fencepost_kernel::Width::B1,
                );
                sum
            }
            _ => sum,
        };
        Flow::Next((i + 1, sum))
    }
    pub(crate) fn run<M: Mem<Dep = ()>>(&self, m: &mut M, crash: &CrashPoint, cuts: bool) -> Result<(), Violation> {
        let mut state = Nosy::first(crash);
        loop {
            if cuts {
                m.cut(state.0 as u64 * 256 + u64::from(state.1));
            }
            match self.step_on(m, state) {
                Flow::Next(next) => state = next,
                Flow::Done(verdict) => return verdict,
            }
        }
    }
}
impl Recovery for Nosy {
    type State = NosyState;
    fn start(&self, crash: &CrashPoint) -> NosyState {
        Nosy::first(crash)
    }
    fn step(&self, m: &mut CrashMem<'_>, state: NosyState) -> Flow<NosyState> {
        self.step_on(m, state)
    }
}

/// Every crash state of every failure point, one by one.
pub(crate) fn brute_force(space: &CrashSpace, recovery: &Nosy) -> Vec<Enumerated> {
    let broken = |image: &Image, crash: &CrashPoint| recovery.run(&mut ImageMem::new(image), crash, false).is_err();
    enumerate(space, u64::MAX, broken).expect("few stores")
}

/// An operation record, for programs under test.
pub(crate) fn op(thread: u32, k: u32, stamp: u64, words: [u64; 3]) -> OpRecord {
    OpRecord {
        thread,
        k,
        stamp,
        outcome: Outcome { kind: 1, words },
    }
}
