//! The audit of a recovered file system: names, sizes and bytes as registers, read without trust.

use super::blocks;
use super::data::content;
use super::directory;
use super::fs::FileSystem;
use super::inode::{Inode, PLANTED};
use super::oracle::{FsModel, Register, named, register};
use super::shape::ENTRY;
use crate::oracle::PARTLY;
use crate::registers::RegisterAudit;
use fencepost_kernel::{Addr, At, Flow, Mem, Span, Violation};

impl FileSystem {
    /// One step of the audit.
    pub(super) fn audit_step<M: Mem<Dep = ()>>(
        &self,
        model: &FsModel,
        m: &mut M,
        state: RegisterAudit,
    ) -> Flow<RegisterAudit> {
        let why = "a name, a size or the bytes of a file are those of no prefix of the calls";
        model.registers.step(state, why, |number| {
            let (name, what) = named(number);
            let dir = self.dirs.at::<()>(self.dir(name));
            let Some((at, inode)) = self.file(m, dir, name)? else {
                return Ok((0, dir.addr));
            };
            match what {
                Register::File => Ok((inode.born, at)),
                Register::Size => Ok((inode.size + 1, at)),
                Register::Bytes(i) => {
                    let cuts = &model.cuts[&name];
                    self.bytes(model, m, name, (inode, at), (i, cuts[i], cuts[i + 1]))
                }
            }
        })
    }
    /// The file of a name: the address of its inode, and the inode.
    fn file<M: Mem<Dep = ()>>(&self, m: &mut M, dir: At<()>, name: u64) -> Result<Option<(Addr, Inode)>, Violation> {
        let of_dir = Inode::read(m, dir);
        let wanted = directory::fields(name);
        let mut found = None;
        for b in 0..self.shape.dir_blocks() {
            let Some(block) = blocks::find(self, m, (of_dir.root, of_dir.height), b) else {
                return Err(Violation::at(dir.addr, "a directory has lost a block"));
            };
            for offset in (0..self.shape.block).step_by(ENTRY as usize) {
                let entry = At::<()>::new(block).field(offset);
                let inode = m.load(entry).v;
                if inode == 0 || wanted.iter().any(|(f, v)| m.load(entry.field(*f)).v != *v) {
                    continue;
                }
                if !self.owns_inode(inode) {
                    return Err(Violation::at(entry.addr, "a name leads to something that is no inode"));
                }
                let at = Addr(inode);
                let inode = Inode::read(m, At::new(at));
                if inode.links != 1 {
                    return Err(Violation::at(entry.addr, "a name leads to an inode that is free"));
                }
                if found.replace((at, inode)).is_some() {
                    return Err(Violation::at(entry.addr, "a name stands in its directory twice"));
                }
            }
        }
        Ok(found)
    }
    /// Which call wrote a stretch of a file's bytes; the newer one, and that it is not alone, where two are side by side.
    fn bytes<M: Mem<Dep = ()>>(
        &self,
        model: &FsModel,
        m: &mut M,
        name: u64,
        (inode, at): (Inode, Addr),
        (part, from, to): (usize, u64, u64),
    ) -> Result<(u64, Addr), Violation> {
        if inode.size <= from {
            return Ok((0, at));
        }
        let mut writers: Vec<(u64, Addr)> = Vec::new();
        let (mut place, end, block) = (from, to.min(inode.size), self.shape.block);
        while place < end {
            let Some(found) = blocks::find(self, m, (inode.root, inode.height), place / block) else {
                return Err(Violation::at(at, "a file has lost a block"));
            };
            let stop = end.min((place / block + 1) * block);
            self.words(m, found, (place, stop), &mut writers)?;
            place = stop;
        }
        let number = register(name, Register::Bytes(part));
        match writers[..] {
            [one] => Ok(one),
            [(a, first), (b, second)] => {
                let over = model.over.get(&number);
                let follows = |x, y| over.is_some_and(|o| o.contains(&(x, y)));
                if follows(a, b) {
                    return Ok((b | PARTLY, second));
                }
                if follows(b, a) {
                    return Ok((a | PARTLY, first));
                }
                Err(Violation::at(second, "bytes of two calls stand where one call wrote"))
            }
            _ => Err(Violation::at(at, "bytes of many calls stand where one call wrote")),
        }
    }
    /// Adds the calls that wrote the words of a part of a block, each once.
    fn words<M: Mem<Dep = ()>>(
        &self,
        m: &mut M,
        block: Addr,
        (from, to): (u64, u64),
        writers: &mut Vec<(u64, Addr)>,
    ) -> Result<(), Violation> {
        let first = Addr(block.0 + from % self.shape.block);
        let span = Span {
            at: first,
            len: to - from,
        };
        let mut saw = |call, at| {
            if !writers.iter().any(|w| w.0 == call) {
                writers.push((call, at));
            }
        };
        if self.used.owns(block.0) && m.changed_since_setup(span).is_some_and(|lines| lines.is_empty()) {
            saw(PLANTED, first);
            return Ok(());
        }
        for place in (from..to).step_by(8) {
            let at = Addr(block.0 + place % self.shape.block);
            let word = m.load(At::new(at)).v;
            let call = word >> 32;
            if word == 0 {
                saw(PLANTED, at);
            } else if word == content(call, place) {
                saw(call, at);
            } else {
                return Err(Violation::at(at, "a word of a file was written for another place"));
            }
        }
        Ok(())
    }
}
