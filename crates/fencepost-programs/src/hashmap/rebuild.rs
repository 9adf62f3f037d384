//! How the map grows: a transaction that moves every entry to an array of twice as many buckets.

use super::table::{BUCKETS, COUNT, KEY, NEXT, Table};
use super::{Hashmap, LONG, NODE, NONE};
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{At, Mem, Pm, Rollback, Val};

impl Hashmap {
    /// Grows the map if a chain of this length asks for it. Rare, so out of line.
    #[track_caller]
    #[inline(never)]
    pub(super) fn grow<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, chain: u64) -> Result<(), Rollback> {
        let root = At::new(self.table.root);
        let old = pm.m.load(root.field(BUCKETS)).ptr();
        let (nbuckets, count) = (pm.m.load(old).v, pm.m.load(root.field(COUNT)).v);
        let Some(new) = self.table.larger(nbuckets) else {
            return Ok(());
        };
        if chain <= LONG && count <= 2 * nbuckets {
            return Ok(());
        }
        let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
        let new = At::new(new);
        if tx.announces() {
            self.announce(&mut tx, old, nbuckets);
        }
        tx.fresh(new, Val::lit(2 * nbuckets));
        for i in 0..2 * nbuckets {
            tx.fresh(new.field(8 + 8 * i), Val::lit(0));
        }
        for i in 0..nbuckets {
            let mut entry = tx.read(old.field(8 + 8 * i)).ptr();
            while entry.addr.0 != 0 {
                let next = tx.read(entry.field(NEXT + 8)).ptr();
                let key = tx.read(entry.field(KEY)).v;
                let head = Table::bucket(new, key, 2 * nbuckets);
                let first = tx.read(head);
                tx.write(entry.field(NEXT), first.map(|f| if f == 0 { NONE } else { NODE }));
                tx.write(entry.field(NEXT + 8), first);
                tx.fresh(head, entry.pointer());
                tx.compute(sites::CHAIN_STEP);
                entry = next;
            }
        }
        tx.write(root.field(BUCKETS), new.pointer());
        tx.commit();
        Ok(())
    }
    /// Announces every link ahead of all stores, so that the records share one barrier.
    #[track_caller]
    fn announce<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, old: At<M::Dep>, nbuckets: u64) {
        tx.protect(At::new(self.table.root).field(BUCKETS), 8);
        for i in 0..nbuckets {
            let mut entry = tx.read(old.field(8 + 8 * i)).ptr();
            while entry.addr.0 != 0 {
                tx.protect(entry.field(NEXT), 16);
                entry = tx.read(entry.field(NEXT + 8)).ptr();
            }
        }
    }
}
