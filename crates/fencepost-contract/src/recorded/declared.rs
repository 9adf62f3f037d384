//! What a log declares before its events: ranges of persistent memory, files.

use super::fields::{Fields, Persistent};
use super::parse::Parser;
use super::{LogError, PersistentFile};
use fencepost_kernel::Addr;

/// Persistent memory that a log can declare: what lies below the hardware logs of simulated designs.
const MOST_PERSISTENT: u64 = 1 << 38;

impl Parser {
    pub(super) fn persistent(&mut self, f: &mut Fields<'_>) -> Result<(), LogError> {
        let (from, len) = (f.number("an address")?, f.number("a length")?);
        let Some(end) = from.checked_add(len).filter(|_| from % 64 == 0 && len % 64 == 0) else {
            return Err(f.error("a persistent range starts and ends on a 64-byte line below 2^64"));
        };
        let next = self.ranges.partition_point(|r| r.from < from);
        let before = next.checked_sub(1).map(|i| &self.ranges[i]);
        if before.is_some_and(|r| r.from + r.len > from) || self.ranges.get(next).is_some_and(|r| r.from < end) {
            return Err(f.error("persistent ranges overlap"));
        }
        let used = self.persistent_bytes;
        self.persistent_bytes = used.checked_add(len).filter(|n| *n <= MOST_PERSISTENT).ok_or_else(|| {
            f.error(format!(
                "persistent ranges have more than {} GiB together",
                MOST_PERSISTENT >> 30
            ))
        })?;
        let range = Persistent {
            from,
            len,
            at: Addr::pm(used),
        };
        self.log.persistent_bytes = used + len;
        self.ranges.insert(next, range);
        Ok(())
    }

    /// A file whose content is a range of persistent memory.
    pub(super) fn file(&mut self, f: &mut Fields<'_>) -> Result<(), LogError> {
        let (offset, length) = (f.number("an offset into persistent memory")?, f.number("a length")?);
        let end = offset.checked_add(length).filter(|end| *end <= MOST_PERSISTENT);
        let Some(end) = end.filter(|_| offset % 64 == 0) else {
            let most = MOST_PERSISTENT >> 30;
            return Err(f.error(format!("a file starts on a 64-byte line, and ends below {most} GiB")));
        };
        let files = &self.log.files;
        let lies_within = |o: &PersistentFile| o.length_at.is_some_and(|at| (offset..end).contains(&at));
        if files
            .iter()
            .any(|o| o.offset < end && offset < o.offset + o.length || lies_within(o))
        {
            return Err(f.error("files overlap"));
        }
        let name = f.next("the name of the file")?.to_owned();
        if name.contains('/') || name == ".." || files.iter().any(|o| o.name == name) {
            return Err(f.error(format!("`{name}` must be a file name, and that of one file only")));
        }
        let mut end = end;
        let mut length_at = None;
        if f.take("length") {
            let at = f.number("the offset of a word with the length")?;
            let taken = |o: &PersistentFile| (o.offset..o.offset + o.length).contains(&at) || o.length_at == Some(at);
            if at % 64 != 0 || at >= MOST_PERSISTENT || (offset..end).contains(&at) || self.log.files.iter().any(taken)
            {
                return Err(f.error("the length of a file has a 64-byte line of its own, in no file"));
            }
            (length_at, end) = (Some(at), end.max(at + 64));
        }
        self.log.persistent_bytes = self.log.persistent_bytes.max(end.next_multiple_of(64));
        self.log.files.push(PersistentFile {
            name,
            offset,
            length,
            length_at,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fencepost_kernel::Addr;

    /// Ranges lie behind one another from the first address of persistent memory on, in the order in which they are declared.
    #[test]
    fn declared_ranges_take_as_much_memory_as_they_have_together() {
        let text = "fencepost-log 1\npersistent 0x4000 128\npersistent 0x1000 64\n0 store 0x1008 5\n";
        let log = crate::recorded::parse(text).expect("a log");
        assert_eq!(log.persistent_bytes, 192);
        assert_eq!(log.trace.stores[0].addr, Addr::pm(136));
    }
}
