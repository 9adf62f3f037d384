//! What a file system looks like before the run.

use super::blocks;
use super::directory;
use super::fs::FileSystem;
use super::inode::{BORN, HEIGHT, LINKS, PLANTED, ROOT, SIZE, TIME};
use fencepost_kernel::{At, Mem, Val};

impl FileSystem {
    /// Makes directories and the files that are there before the run. Their bytes are zeros.
    pub(super) fn setup<M: Mem>(&self, m: &mut M, planted: impl Fn(u64) -> Option<u64>) {
        self.journal.setup(m);
        let (mut next, mut file) = (0, 0);
        for dir in 0..self.dirs.count() {
            let size = self.shape.dir_blocks() * self.shape.block;
            self.plant(m, self.dirs.at(dir), size, &mut next);
        }
        for name in 0..self.shape.names {
            let Some(size) = planted(name) else { continue };
            let inode = self.planted.at(file);
            file += 1;
            self.plant(m, inode, size, &mut next);
            let dir = self.dirs.at(self.dir(name));
            let entry = directory::entry_of(self, m, dir, name % self.shape.names_per_dir);
            directory::fields(name)
                .into_iter()
                .for_each(|(f, v)| m.store(entry.field(f), Val::lit(v)));
            m.store(entry, inode.pointer());
            m.store(self.known(name), inode.pointer());
            m.store(self.known(name).field(8), entry.pointer());
        }
    }
    fn plant<M: Mem>(&self, m: &mut M, inode: At<M::Dep>, size: u64, next: &mut u64) {
        let count = size.div_ceil(self.shape.block);
        let (root, height) = blocks::plant(self, m, count, next);
        let fields = [
            (ROOT, root),
            (SIZE, size),
            (HEIGHT, height),
            (TIME, PLANTED),
            (BORN, PLANTED),
            (LINKS, 1),
        ];
        fields
            .into_iter()
            .for_each(|(f, v)| m.store(inode.field(f), Val::lit(v)));
    }
}
