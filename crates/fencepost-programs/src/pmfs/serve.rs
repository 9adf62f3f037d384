//! How each call is served.

use super::blocks::{self, Growth};
use super::calls::{Call, Caller};
use super::data::{copy_in, copy_out};
use super::directory;
use super::fs::FileSystem;
use super::inode::{BORN, CHANGES, HEIGHT, LINKS, ROOT, SIZE, TIME};
use super::shape::ENTRY;
use crate::choices::Variant;
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::planted;
use fencepost_kernel::{At, Mem, Outcome, Pm, Rollback, Val};

const NOTHING: Outcome = Outcome { kind: 0, words: [0; 3] };

impl FileSystem {
    /// Serves a call: under the locks of its names, and of their directories where those change.
    #[track_caller]
    #[inline(always)]
    pub(super) fn serve<M: Mem>(&self, pm: &mut Pm<'_, M>, by: Caller, call: &Call) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let names = call.names().into_iter().flatten();
        let dirs = names.clone().filter(|_| call.of_directories()).map(|n| self.dir(n));
        let stripes = self.locks.stripes(names.map(|n| self.dirs.count() + n).chain(dirs));
        self.locks.lock_all(pm, stripes.as_slice());
        let result = match *call {
            Call::Create { name } => self.create(pm, by, name),
            Call::Append { name, len } => self.append(pm, by, name, len),
            Call::Overwrite { name, at, len } => self.overwrite(pm, by, name, (at, len)),
            Call::Read { name, at, most } => self.read(pm, by, name, (at, most)),
            Call::Delete { name } => self.delete(pm, by, name),
            Call::Rename { from, to } => self.rename(pm, by, from, to),
            Call::Stat { name } => self.stat(pm, by, name),
            Call::Sync => Ok(NOTHING),
        };
        self.locks.unlock_all(pm, stripes.as_slice());
        pm.m.compute(sites::EPILOGUE);
        result
    }
    /// Inode and entry of a name, by the volatile index; 0: there is none.
    #[inline(always)]
    fn look_up<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, name: u64) -> (At<M::Dep>, At<M::Dep>) {
        tx.compute(sites::HASH_KEY);
        let known = self.known(name);
        (tx.pm.m.load(known).ptr(), tx.pm.m.load(known.field(8)).ptr())
    }
    #[inline(always)]
    fn remember<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, name: u64, inode: Val<M::Dep>, entry: Val<M::Dep>) {
        tx.pm.m.store(self.known(name), inode);
        tx.pm.m.store(self.known(name).field(8), entry);
    }
    #[inline(always)]
    fn create<M: Mem>(&self, pm: &mut Pm<'_, M>, by: Caller, name: u64) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, by.thread, by.k)?;
        if self.look_up(&mut tx, name).0.addr.0 != 0 {
            tx.commit();
            return Ok(NOTHING);
        }
        let dir = self.dirs.at(self.dir(name));
        let entry = directory::free_entry(self, &mut tx, dir);
        let inode = self.inodes.alloc(tx.pm.m, by.thread);
        let split = tx.slip(Variant::NonAtomicUpdate);
        let mut undo = self.journal.begin(&mut tx, by.thread, self.entries(0));
        self.journal.log(&mut tx, &mut undo, entry, ENTRY);
        self.journal.log(&mut tx, &mut undo, dir, CHANGES);
        self.journal.log(&mut tx, &mut undo, inode, CHANGES);
        self.journal.seal(&mut tx, &mut undo);
        for (field, word) in directory::fields(name) {
            tx.write(entry.field(field), Val::lit(word));
        }
        tx.write(entry, inode.pointer());
        tx.write(dir.field(TIME), Val::lit(by.name()));
        if split {
            // The mistake: the name first, its inode in a transaction of its own.
            self.journal.commit(&mut tx, undo);
            tx.commit();
            tx = self.rt.begin_part(pm, by.thread, by.k, 1)?;
            undo = self.journal.begin(&mut tx, by.thread, self.entries(0));
            self.journal.log(&mut tx, &mut undo, inode, CHANGES);
            self.journal.seal(&mut tx, &mut undo);
        }
        let fields = [
            (ROOT, 0),
            (SIZE, 0),
            (HEIGHT, 0),
            (TIME, by.name()),
            (BORN, by.name()),
            (LINKS, 1),
        ];
        for (field, word) in fields {
            tx.write(inode.field(field), Val::lit(word));
        }
        self.journal.commit(&mut tx, undo);
        self.remember(&mut tx, name, inode.pointer(), entry.pointer());
        tx.commit();
        Ok(done(Call::Create { name }))
    }
    /// Entries of a transaction that adds so many blocks to a file.
    #[inline(always)]
    fn entries(&self, blocks: u64) -> u64 {
        super::fs::ENTRIES + blocks / 6 + 1
    }
    #[inline(always)]
    fn append<M: Mem>(&self, pm: &mut Pm<'_, M>, by: Caller, name: u64, len: u64) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, by.thread, by.k)?;
        let inode = self.look_up(&mut tx, name).0;
        if inode.addr.0 == 0 || len == 0 {
            tx.commit();
            return Ok(NOTHING);
        }
        let size = tx.read(inode.field(SIZE)).v;
        if tx.slip(Variant::NonAtomicUpdate) && len > 8 {
            // The mistake: two writes of one.
            self.extend(&mut tx, inode, by, (size, size + 8));
            tx.commit();
            tx = self.rt.begin_part(pm, by.thread, by.k, 1)?;
            self.extend(&mut tx, inode, by, (size + 8, size + len));
        } else {
            self.extend(&mut tx, inode, by, (size, size + len));
        }
        tx.commit();
        Ok(done(Call::Append { name, len }))
    }
    /// Writes from a file's end on: within its last block, or with new blocks.
    #[track_caller]
    #[inline(always)]
    fn extend<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, inode: At<M::Dep>, by: Caller, (size, end): (u64, u64)) {
        let count = |bytes: u64| bytes.div_ceil(self.shape.block);
        let growth = Growth {
            old: count(size),
            new: count(end),
        };
        let bytes = ((by.thread, by.name()), (size, end));
        let size_first =
            tx.slip(Variant::SizeFirst) || planted!("pmfs.size-before-data", "a file's size is durable after its data");
        if growth.old == growth.new {
            // The block is there: the size is one word, and a journal for it is not needed.
            if !size_first {
                copy_in(self, tx, inode, bytes.0, bytes.1);
                tx.step();
            }
            tx.write(inode.field(TIME), Val::lit(by.name()));
            tx.write(inode.field(SIZE), Val::lit(end));
            tx.step();
            if size_first {
                copy_in(self, tx, inode, bytes.0, bytes.1);
                tx.step();
            }
            return;
        }
        let mut undo = self.journal.begin(tx, by.thread, self.entries(growth.new - growth.old));
        self.journal.log(tx, &mut undo, inode, CHANGES);
        blocks::log_growth(self, tx, &mut undo, inode, growth);
        self.journal.seal(tx, &mut undo);
        let (root, height) = blocks::grow(self, tx, inode, growth);
        tx.write(inode.field(ROOT), root);
        tx.write(inode.field(HEIGHT), Val::lit(height));
        if !size_first {
            copy_in(self, tx, inode, bytes.0, bytes.1);
        }
        tx.write(inode.field(TIME), Val::lit(by.name()));
        tx.write(inode.field(SIZE), Val::lit(end));
        self.journal.commit(tx, undo);
        if size_first {
            copy_in(self, tx, inode, bytes.0, bytes.1);
            tx.step();
        }
    }
    #[inline(always)]
    fn overwrite<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        by: Caller,
        name: u64,
        (at, len): (u64, u64),
    ) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, by.thread, by.k)?;
        let inode = self.look_up(&mut tx, name).0;
        let size = match inode.addr.0 {
            0 => 0,
            _ => tx.read(inode.field(SIZE)).v,
        };
        let end = size.min(at + len);
        if at >= end {
            tx.commit();
            return Ok(NOTHING);
        }
        copy_in(self, &mut tx, inode, (by.thread, by.name()), (at, end));
        tx.write(inode.field(TIME), Val::lit(by.name()));
        let ordered = !planted!(
            "pmfs.data-not-ordered",
            "what a write has copied is durable when it returns"
        );
        if ordered {
            tx.step();
        }
        tx.commit();
        Ok(done(Call::Overwrite { name, at, len }))
    }
    #[inline(always)]
    fn read<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        by: Caller,
        name: u64,
        (at, most): (u64, u64),
    ) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, by.thread, by.k)?;
        let inode = self.look_up(&mut tx, name).0;
        let mut words = [0; 3];
        if inode.addr.0 != 0 {
            let size = tx.read(inode.field(SIZE)).v;
            let range = (at.min(size), (at + most).min(size));
            words = [size + 1, copy_out(self, &mut tx, inode, by.thread, range), 0];
        }
        tx.commit();
        Ok(Outcome { kind: 0, words })
    }
    #[inline(always)]
    fn stat<M: Mem>(&self, pm: &mut Pm<'_, M>, by: Caller, name: u64) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, by.thread, by.k)?;
        let inode = self.look_up(&mut tx, name).0;
        let mut words = [0; 3];
        if inode.addr.0 != 0 {
            words[0] = tx.read(inode.field(SIZE)).v + 1;
        }
        tx.commit();
        Ok(Outcome { kind: 0, words })
    }
    #[inline(always)]
    fn delete<M: Mem>(&self, pm: &mut Pm<'_, M>, by: Caller, name: u64) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, by.thread, by.k)?;
        let (inode, entry) = self.look_up(&mut tx, name);
        if inode.addr.0 == 0 {
            tx.commit();
            return Ok(NOTHING);
        }
        let dir = self.dirs.at(self.dir(name));
        let size = tx.read(inode.field(SIZE)).v;
        let mut undo = self.journal.begin(&mut tx, by.thread, self.entries(0));
        self.journal.log(&mut tx, &mut undo, entry, ENTRY);
        self.journal.log(&mut tx, &mut undo, dir, CHANGES);
        self.journal.log(&mut tx, &mut undo, inode, CHANGES);
        self.journal.seal(&mut tx, &mut undo);
        tx.write(entry, Val::lit(0));
        tx.write(dir.field(TIME), Val::lit(by.name()));
        // Blocks and inode are free once the transaction has committed; the list is walked while it is there.
        if size > 0 {
            blocks::each(self, &mut tx, inode, size.div_ceil(self.shape.block), |tx, block| {
                // What was there before the run stays out of the pools.
                if !self.used.owns(block.addr.0) {
                    tx.free(block);
                }
            });
        }
        tx.write(inode.field(LINKS), Val::lit(0));
        tx.write(inode.field(TIME), Val::lit(by.name()));
        self.journal.commit(&mut tx, undo);
        self.remember(&mut tx, name, Val::lit(0), Val::lit(0));
        tx.commit();
        if self.inodes.owns(inode.addr) {
            self.inodes.free(pm.m, by.thread, inode);
        }
        Ok(done(Call::Delete { name }))
    }
    #[inline(always)]
    fn rename<M: Mem>(&self, pm: &mut Pm<'_, M>, by: Caller, from: u64, to: u64) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, by.thread, by.k)?;
        let (inode, old) = self.look_up(&mut tx, from);
        if inode.addr.0 == 0 || from == to || self.look_up(&mut tx, to).0.addr.0 != 0 {
            tx.commit();
            return Ok(NOTHING);
        }
        let dirs = [self.dir(from), self.dir(to)].map(|d| self.dirs.at(d));
        let new = directory::free_entry(self, &mut tx, dirs[1]);
        let mut undo = self.journal.begin(&mut tx, by.thread, self.entries(0));
        for entry in [old, new] {
            self.journal.log(&mut tx, &mut undo, entry, ENTRY);
        }
        for dir in dirs {
            self.journal.log(&mut tx, &mut undo, dir, CHANGES);
        }
        self.journal.seal(&mut tx, &mut undo);
        for (field, word) in directory::fields(to) {
            tx.write(new.field(field), Val::lit(word));
        }
        tx.write(new, inode.pointer());
        dirs.into_iter()
            .for_each(|d| tx.write(d.field(TIME), Val::lit(by.name())));
        if tx.slip(Variant::NonAtomicUpdate) {
            // The mistake: both names for a while.
            self.journal.commit(&mut tx, undo);
            tx.commit();
            tx = self.rt.begin_part(pm, by.thread, by.k, 1)?;
            undo = self.journal.begin(&mut tx, by.thread, self.entries(0));
            self.journal.log(&mut tx, &mut undo, old, ENTRY);
            self.journal.seal(&mut tx, &mut undo);
        }
        tx.write(old, Val::lit(0));
        self.journal.commit(&mut tx, undo);
        self.remember(&mut tx, to, inode.pointer(), new.pointer());
        self.remember(&mut tx, from, Val::lit(0), Val::lit(0));
        tx.commit();
        Ok(done(Call::Rename { from, to }))
    }
}

fn done(call: Call) -> Outcome {
    Outcome {
        kind: call.kind(),
        words: [0; 3],
    }
}
