//! What the persist log says: whole lines as they once were, older ones first, and the memory that a power failure leaves.

use crate::run::{Breach, Run, must};
use fencepost_kernel::{Addr, LineAddr, LineData, PersistRecord, StoreId, TraceKind};
use rustc_hash::FxHashMap;

/// Every store of each word, oldest first.
type Stores = FxHashMap<Addr, Vec<StoreId>>;

/// Judges every record and the memory at the end.
pub(crate) fn judge(run: &Run<'_>) -> Result<(), Breach> {
    let transactions = run.trace.events.iter().any(|e| matches!(e.kind, TraceKind::TxBegin(_)));
    let mut stores = Stores::default();
    for (i, s) in run.trace.stores.iter().enumerate() {
        stores.entry(s.addr.word()).or_default().extend(StoreId::from_index(i));
    }
    let mut memory: FxHashMap<LineAddr, LineData> = FxHashMap::default();
    for (i, record) in run.records.iter().enumerate() {
        if !record.cause.is_log() {
            bytes(run, i, record)?;
            if !transactions {
                whole(&stores, i, record)?;
                in_order(i, record, memory.get(&record.line))?;
            }
        }
        memory.insert(record.line, record.data);
    }
    for (line, data) in &memory {
        let held = run.durable.line_words(*line);
        must(
            held == data.words,
            "memory holds what became durable last",
            None,
            || format!("{line:?} ends as {held:x?}, and {:x?} became durable last", data.words),
        )?;
    }
    let mut others = run.durable.pm_lines().filter(|l| !memory.contains_key(l));
    let changed = others.find(|l| !run.durable.same_line(run.initial, *l));
    must(changed.is_none(), "memory holds what became durable last", None, || {
        format!("{changed:?} changed, and nothing became durable there")
    })?;
    let mut stored = stores.keys().map(|w| w.line()).filter(|l| l.is_persistent());
    let lost = stored.find(|l| run.durable.line_words(*l) != run.coherent.line_words(*l));
    must(
        !run.hardware.persists_every_store || lost.is_none(),
        "every store becomes durable",
        None,
        || format!("what was last stored to {lost:?} never became durable"),
    )
}

fn word(line: LineAddr, k: usize) -> Addr {
    Addr(line.base().0 + k as u64 * 8)
}

/// Every word is what the store that it names stored there, or what was there before the run.
fn bytes(run: &Run<'_>, i: usize, record: &PersistRecord) -> Result<(), Breach> {
    for (k, (value, by)) in record.data.words.iter().zip(record.data.by).enumerate() {
        let at = word(record.line, k);
        let expected = match by {
            None => run.initial.word(at),
            Some(store) => {
                let s = run.trace.store(store);
                must(
                    s.addr.word() == at,
                    "a word is durable where it was stored",
                    None,
                    || format!("record {i} has store {} of {} in {at}", store.index(), s.addr),
                )?;
                s.value
            }
        };
        must(*value == expected, "what is durable was stored", None, || {
            format!("record {i} has {value:#x} in {at}, and {by:?} left {expected:#x}")
        })?;
    }
    Ok(())
}

/// A line becomes durable as it was at some moment: beside its newest store, every word shows the newest store before that.
fn whole(stores: &Stores, i: usize, record: &PersistRecord) -> Result<(), Breach> {
    let Some(moment) = record.data.by.iter().flatten().max() else {
        return Ok(());
    };
    for (k, by) in record.data.by.iter().enumerate() {
        let at = word(record.line, k);
        let of_word = stores.get(&at).map_or(&[][..], Vec::as_slice);
        let until = of_word.partition_point(|s| s <= moment);
        let expected = of_word[..until].last();
        must(
            by.as_ref() == expected,
            "a line becomes durable as it was at one moment",
            None,
            || format!("record {i} has {by:?} in {at} beside {moment:?}, when {expected:?} was there"),
        )?;
    }
    Ok(())
}

/// No word goes back to an older store.
fn in_order(i: usize, record: &PersistRecord, before: Option<&LineData>) -> Result<(), Breach> {
    let Some(before) = before else { return Ok(()) };
    for k in 0..8 {
        must(
            record.data.by[k] >= before.by[k],
            "a word becomes durable in coherence order",
            None,
            || {
                let at = word(record.line, k);
                format!(
                    "record {i} has {:?} in {at}, where {:?} was durable",
                    record.data.by[k], before.by[k]
                )
            },
        )?;
    }
    Ok(())
}
