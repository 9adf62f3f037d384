//! How the map grows: a transaction that moves every entry to an array of twice as many buckets.

use super::table::{BUCKETS, COUNT, KEY, NEXT, Table};
use super::{Chains, LONG, NODE, NONE};
use crate::sites;
use crate::tx::{Runtime, Tx};
use fencepost_kernel::{Addr, At, Mem, Pm, Rollback, Val};

impl Chains {
    /// Grows the map if a chain of this length asks for it. Rare, so out of line.
    #[inline(never)]
    pub(super) fn grow<M: Mem>(
        &self,
        rt: &Runtime,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        chain: u64,
    ) -> Result<(), Rollback> {
        let old = pm.m.load(At::new(self.table.root).field(BUCKETS)).ptr();
        let (nbuckets, count) = (pm.m.load(old).v, pm.m.load(At::new(self.table.root).field(COUNT)).v);
        let Some(new) = self.due(nbuckets, count, chain) else {
            return Ok(());
        };
        let mut tx = rt.begin_part(pm, thread, k, 1)?;
        self.move_all(&mut tx, old, nbuckets, At::new(new));
        tx.commit();
        Ok(())
    }
    /// The same as part of the transaction that inserted.
    pub(super) fn grow_within<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, chain: u64) {
        let old = tx.read(At::new(self.table.root).field(BUCKETS)).ptr();
        let (nbuckets, count) = (tx.read(old).v, tx.read(At::new(self.table.root).field(COUNT)).v);
        if let Some(new) = self.due(nbuckets, count, chain) {
            self.move_all(tx, old, nbuckets, At::new(new));
        }
    }
    /// The array to move to, if the map is to grow.
    #[inline(always)]
    fn due(&self, nbuckets: u64, count: u64, chain: u64) -> Option<Addr> {
        let new = self.table.larger(nbuckets)?;
        (chain > LONG || count > 2 * nbuckets).then_some(new)
    }
    /// Moves every entry to an array twice as long.
    fn move_all<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, old: At<M::Dep>, nbuckets: u64, new: At<M::Dep>) {
        if tx.announces() {
            self.announce(tx, old, nbuckets);
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
        tx.write(At::new(self.table.root).field(BUCKETS), new.pointer());
    }
    /// Announces every link ahead of all stores, so that the records share one barrier.
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

/// A chain of more than ten, or more than two entries for a bucket; there is nothing behind the last array.
#[test]
fn a_map_grows_for_long_chains_and_for_many_entries() {
    use super::HashmapParams;
    use crate::dictionary::Contents;
    use crate::layout::Layout;
    use crate::settings::Settings;
    let p = HashmapParams {
        buckets: 10,
        preload: 0,
        ..HashmapParams::default()
    };
    let settings = Settings {
        ops: 40,
        ..Settings::default()
    };
    let inserts = Chains::keys_of(&p, &settings).expect("they can be");
    let map = Chains::lay_out(&p, &settings, inserts, &mut Layout::default())
        .expect("it can be")
        .contents;
    assert_eq!((map.due(10, 20, 10), map.due(40, 500, 11)), (None, None));
    let larger = map.table.larger(10);
    assert!(larger.is_some());
    assert_eq!((map.due(10, 20, 11), map.due(10, 21, 1)), (larger, larger));
}
