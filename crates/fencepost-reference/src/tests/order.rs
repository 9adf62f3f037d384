//! Orders that hold by luck: of entries that left their buffers, and of transactions that saw what was taken back.

use super::*;
use fencepost_kernel::TxId;

/// A thread stores x, fences and stores y; both leave its buffer at once, and join these epochs.
#[test]
fn what_is_behind_a_fence_has_its_turn_later() {
    let run = |epochs: [u64; 2], first_left: bool| {
        let mut r = Small::new();
        let put = |r: &mut Small, word: u64, entry: u64| {
            r.store(0, word, 1 + word);
            let line = Some(Addr::pm(word * 8).line());
            let buffer = 0;
            r.note(LedgerKind::Buffered { buffer, entry, line });
        };
        put(&mut r, 0, 1);
        let (buffer, entry, line) = (0, 2, None);
        r.note(LedgerKind::Buffered { buffer, entry, line });
        r.trace.push(HwThread(0), TraceKind::Fence(Fence::Dmb));
        put(&mut r, 8, 3);
        for (entry, write) in [(1, 1), (3, 2)] {
            r.note(LedgerKind::Sent { buffer, entry, write });
            r.note(LedgerKind::Left { buffer, entry });
        }
        let x = r.accept_in(1, 0, Some(epochs[0]));
        if first_left {
            r.issue(1);
        }
        let y = r.accept_in(2, 8, Some(epochs[1]));
        if !first_left {
            r.issue(1);
        }
        r.become_durable(1, 0, x);
        r.issue(2);
        r.become_durable(2, 8, y);
        r.counts = None;
        r.judge().err().map(|b| b.rule)
    };
    let rule = Some("what is before an entry is durable or of an earlier epoch");
    assert_eq!(run([4, 5], false), None);
    assert_eq!([run([4, 4], false), run([5, 4], false)], [rule, rule]);
    assert_eq!(run([4, 4], true), None, "nothing is left to wait for");
}

/// Thread 1 begins while a transaction of thread 0 runs, or before it; `Some` of a thread's event, or a store by it.
#[test]
fn a_transaction_aborts_with_an_older_one() {
    let run = |events: &[(u8, Option<TraceKind>)]| {
        let mut r = Small::new();
        r.hardware.threads = 3;
        for (thread, kind) in events {
            match kind {
                Some(kind) => r.trace.push(HwThread(*thread), *kind),
                None => drop(r.store(*thread, 8 * u64::from(*thread), 1)),
            }
        }
        r.judge().err().map(|b| b.rule)
    };
    let [begin, commit, abort] =
        [TraceKind::TxBegin, TraceKind::TxCommit, TraceKind::TxAbort].map(|k| Some(k(TxId(1))));
    let (store, rule) = (None, Some("a transaction aborts with one that began before it"));
    let both = [(0, begin), (1, begin), (0, abort)];
    assert_eq!(run(&[&both[..], &[(1, store), (1, commit)]].concat()), rule);
    assert_eq!(run(&[&both[..], &[(1, store), (1, abort)]].concat()), None);
    assert_eq!(
        run(&[&both[..], &[(1, commit)]].concat()),
        None,
        "it may have asked before"
    );
    let older = [(1, begin), (0, begin), (0, abort), (1, store), (1, commit)];
    assert_eq!(run(&older), None);
    let later = [(0, begin), (0, abort), (1, begin), (1, store), (1, commit)];
    assert_eq!(run(&later), None);
    // What aborts with another one takes nobody with it that began since.
    let since = [(2, begin), (1, abort), (2, store), (2, commit)];
    assert_eq!(run(&[&both[..], &since].concat()), None);
}

#[test]
fn a_store_is_of_the_transaction_that_its_thread_runs() {
    let of = |tx: [Option<TxId>; 3]| {
        let mut r = Small::new();
        r.store(0, 0, 1);
        r.trace.push(HwThread(0), TraceKind::TxBegin(TxId(4)));
        r.store(0, 8, 2);
        r.trace.push(HwThread(0), TraceKind::TxCommit(TxId(4)));
        r.store(0, 16, 3);
        r.trace.stores.iter_mut().zip(tx).for_each(|(s, tx)| s.tx = tx);
        r.judge().err().map(|b| b.rule)
    };
    let (own, rule) = (
        Some(TxId(4)),
        Some("a store is of the transaction that its thread runs"),
    );
    assert_eq!(of([None, own, None]), None);
    assert_eq!(of([None, own, own]), rule, "it has ended");
    assert_eq!(of([own, own, None]), rule, "it has not begun");
    assert_eq!(of([None, None, None]), rule);
    assert_eq!(of([None, Some(TxId(3)), None]), rule);
}
