//! Tiny executions, written by hand and judged by contracts alone.

use fencepost_contract::explore::{Explorer, plain};
use fencepost_contract::{Contract, ContractKind, Demands, Grain, conform};
use fencepost_kernel::{
    Addr, At, Fence, HwThread, Image, LineData, Mem, PersistRecord, Ps, StoreId, StoreInfo, Trace, TraceKind,
    WriteCause,
};
use std::cell::RefCell;
use std::panic::Location;

const X: Addr = Addr::pm(0);
const Y: Addr = Addr::pm(64);
const Z: Addr = Addr::pm(128);

/// Which of the three stores of Figure 1 are durable.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Durable {
    /// `X`, before the fence.
    pub x: bool,
    /// `Y`, after it.
    pub y: bool,
    /// `Z`, by the other core that read `Y`.
    pub z: bool,
}

fn store(trace: &mut Trace, thread: u8, addr: Addr, value: u64) -> StoreId {
    let id = StoreId::from_index(trace.stores.len()).unwrap_or_else(|| unreachable!("a handful of stores"));
    let (thread, source) = (HwThread(thread), Location::caller().into());
    trace.stores.push(StoreInfo {
        thread,
        addr,
        value,
        nt: false,
        tx: None,
        source,
    });
    trace.push(thread, TraceKind::Store(id));
    id
}

/// Crash states of the paper's Figure 1, `X = 1; FENCE; Y = 1` beside `r = Y; Z = r`, where the read saw `Y = 1`: with the
/// data dependence from the read to `Z`, or with `Z` a store of its own.
pub(crate) fn figure_one(contract: ContractKind, dependent: bool) -> Vec<Durable> {
    let mut trace = Trace {
        threads: 2,
        ..Trace::default()
    };
    store(&mut trace, 0, X, 1);
    trace.push(HwThread(0), TraceKind::Fence(Fence::Dmb));
    let y = store(&mut trace, 0, Y, 1);
    let read = trace.next_event();
    trace.push(HwThread(1), TraceKind::Load { addr: Y, from: Some(y) });
    store(&mut trace, 1, Z, 1);
    if dependent {
        trace.depends_on(read);
    }
    let mut states: Vec<Durable> = (states(&Contract::from(contract), &trace, [X, Y, Z]).into_iter())
        .map(|w| Durable {
            x: w[0] == 1,
            y: w[1] == 1,
            z: w[2] == 1,
        })
        .collect();
    states.sort();
    states
}

/// Every combination of values that these words may have after a power failure.
pub(crate) fn states<const N: usize>(contract: &Contract, trace: &Trace, words: [Addr; N]) -> Vec<[u64; N]> {
    let space = contract.space(trace, &Image::default());
    let seen = RefCell::new(Vec::new());
    let explored = Explorer::new(&space).explore(&mut plain(|m, _| {
        let state = words.map(|a| m.load(At::new(a)).v);
        if !seen.borrow().contains(&state) {
            seen.borrow_mut().push(state);
        }
        Ok(())
    }));
    debug_assert!(explored.is_ok());
    seen.into_inner()
}

/// How many values a word may have after one store of eight differing bytes, at a persist grain.
pub(crate) fn values_of_one_store(grain: Grain) -> usize {
    let mut trace = Trace {
        threads: 1,
        ..Trace::default()
    };
    store(&mut trace, 0, X, 0x0102_0304_0506_0708);
    let mut contract = Contract::from(ContractKind::Rcbsp);
    contract.params.grain = grain;
    states(&contract, &trace, [X]).len()
}

/// Whether a durable order that puts a word back to an older store is refused.
pub(crate) fn backwards_is_refused() -> Result<(), String> {
    let mut trace = Trace {
        threads: 1,
        ..Trace::default()
    };
    let ids = [1, 2].map(|v| store(&mut trace, 0, X, v));
    let record = |i: usize| {
        let mut data = LineData::default();
        (data.words[0], data.by[0]) = (i as u64 + 1, Some(ids[i]));
        PersistRecord {
            time: Ps(i as u64),
            line: X.line(),
            data,
            cause: WriteCause::Persist,
        }
    };
    let judge = |order: [usize; 2]| {
        let mut trace = trace.clone();
        (0..2).for_each(|i| trace.push_hardware(TraceKind::Durable { index: i }));
        conform(
            &trace,
            &order.map(record),
            &Contract::from(ContractKind::Rcbsp),
            Demands::default(),
        )
    };
    match (judge([0, 1]), judge([1, 0])) {
        (Ok(_), Err(_)) => Ok(()),
        (forwards, back) => Err(format!("forwards {}, backwards {}", forwards.is_ok(), back.is_ok())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn hand_written_executions_have_the_states_that_the_paper_gives_them() {
        // X before Y, and X before Z by the dependence, Y and Z unordered: {}, X, XY, XZ, XYZ. Without it Z is free:
        // {}, X, XY, each with or without Z.
        assert_eq!(figure_one(ContractKind::Rcbsp, true).len(), 5);
        assert_eq!(figure_one(ContractKind::Rcbsp, false).len(), 6);
        assert_eq!(figure_one(ContractKind::None, true).len(), 8);
        assert_eq!(
            (values_of_one_store(Grain::Word), values_of_one_store(Grain::Byte)),
            (2, 256)
        );
        assert_eq!(backwards_is_refused(), Ok(()));
    }
}
