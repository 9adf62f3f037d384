//! Rolled-back transactions: what a thread does before it learns of it.

use super::common::*;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Addr, At, Mem, Rmw, Val};
use fencepost_machine::ThreadBody;
use std::{cell::Cell, rc::Rc};

/// A thread publishes what its transaction stored once that has committed. Where the hardware rolled the commit back, the
/// release is squashed as plain stores are, and the atomic that counts commits counts each once.
#[test]
fn a_thread_that_was_rolled_back_publishes_nothing() {
    const OPS: u32 = 12;
    let (flag, counter) = (At::new(Addr(0)), At::new(Addr(64)));
    for name in hardware() {
        let seen = Rc::new(Cell::new(0));
        let reader_seen = seen.clone();
        let writer: ThreadBody = Box::new(move |m| {
            operations(m, OPS, |m, k| {
                m.tx_begin()?;
                put(m, 0, u64::from(k) + 1);
                m.tx_commit();
                m.store_release(flag, Val::lit(u64::from(k) + 1));
                m.rmw(counter, Rmw::Add(1));
                Ok(())
            });
        });
        let reader: ThreadBody = Box::new(move |m| {
            while reader_seen.get() < u64::from(OPS) {
                let published = m.load_acquire(flag).v;
                assert!(m.load_acquire(pm(0)).v >= published, "published before it was there");
                reader_seen.set(published);
            }
        });
        let set = [("abort_every", Raw::Int(2))];
        let report = run(&roomy(2), design(name, &set, 2), vec![writer, reader]);
        assert!(history(&report, false).aborted > 0, "{name}: nothing was rolled back");
        assert_eq!(report.coherent.word(counter.addr), u64::from(OPS), "{name}");
    }
}
