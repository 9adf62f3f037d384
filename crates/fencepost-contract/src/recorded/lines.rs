//! Lines of memory in the text format: which stores a durable or accepted line holds.

use super::LogError;
use super::fields::{CAUSES, Fields, lookup, nearest};
use super::parse::Parser;
use fencepost_kernel::{Addr, LineAddr, PersistRecord, Ps, StoreId, TraceKind, WriteCause, planted};

/// What one word of a line is said to hold.
pub(super) enum Content {
    Value(u64),
    Store(StoreId),
}

impl Parser {
    pub(super) fn durable(&mut self, number: usize, f: &mut Fields<'_>) -> Result<(), LogError> {
        let line = f.address(&self.ranges)?.line();
        let (mut time, mut cause) = (Ps(self.log.records.len() as u64), WriteCause::Eviction);
        loop {
            if f.take("at") {
                time = f.time()?;
            } else if f.take("cause") {
                let word = f.next("a cause")?;
                let known = CAUSES.iter().map(|c| c.0);
                let unknown = || f.hinted(format!("unknown cause `{word}`"), nearest(word, known));
                cause = lookup(&CAUSES, word).ok_or_else(unknown)?;
            } else {
                break;
            }
        }
        let contents = self.contents(f)?;
        let mut data = self.media.line(line);
        // Words of a hardware log are copies: they all name their stores.
        let mut named = if cause.is_log() { u8::MAX } else { 0 };
        for (i, content) in contents {
            named |= u8::from(matches!(content, Content::Store(_))) << i;
            (data.by[i], data.words[i]) = match (cause, content) {
                (c, Content::Store(s)) if c.is_log() => (Some(s), self.log.trace.store(s).value),
                (c, Content::Value(_)) if c.is_log() => {
                    return Err(f.error("words of a hardware log name their stores (#n)"));
                }
                (_, content) => self.resolve(f, line, i, content)?,
            };
        }
        let left_out = planted!("judge.durable-left-out", "every durable line of a log is judged");
        if left_out {
            return Ok(());
        }
        self.media.set_line(line, &data);
        self.log.named.push(named);
        self.log.records.push(PersistRecord {
            time,
            line,
            data,
            cause,
        });
        let index = self.log.records.len() as u32 - 1;
        self.push(number, None, TraceKind::Durable { index });
        Ok(())
    }

    /// The words after the colon.
    pub(super) fn contents(&self, f: &mut Fields<'_>) -> Result<Vec<(usize, Content)>, LogError> {
        if !f.take(":") {
            let found = f.peek().map_or("the end of the line".into(), |w| format!("`{w}`"));
            return Err(f.hinted(
                format!("expected `:` and the line's words; found {found}"),
                Some("for example `: 0=1 3=#7`".into()),
            ));
        }
        let mut contents = Vec::new();
        while let Some(word) = f.maybe() {
            let (index, content) = word
                .split_once('=')
                .ok_or_else(|| f.error(format!("expected <word>=<value> or <word>=#<store>; found `{word}`")))?;
            let index = f.parse_number(index, "the index of a word")?;
            if index >= 8 {
                return Err(f.error(format!("a line has words 0 to 7, not {index}")));
            }
            let content = match content.strip_prefix('#') {
                Some(n) => Content::Store(self.numbered(f, f.parse_number(n, "a store number")?)?),
                None => Content::Value(f.parse_number(content, "a value")?),
            };
            contents.push((index as usize, content));
        }
        Ok(contents)
    }

    /// The store behind a word of a line, and the word's value. By value: what is durable if that fits, else the
    /// oldest younger store of that value, else any store of it, else the initial value.
    pub(super) fn resolve(
        &self,
        f: &Fields<'_>,
        line: LineAddr,
        i: usize,
        content: Content,
    ) -> Result<(Option<StoreId>, u64), LogError> {
        let value = match content {
            Content::Store(s) => return Ok((Some(s), self.log.trace.store(s).value)),
            Content::Value(v) => v,
        };
        let at = Addr(line.base().0 + i as u64 * 8);
        let durable = self.media.writer(at);
        if self.media.word(at) == value {
            return Ok((durable, value));
        }
        let fits = |s: &&StoreId| self.log.trace.store(**s).value == value;
        let all = self.versions.get(&at).map_or(&[][..], Vec::as_slice);
        let younger = all.iter().filter(|s| Some(**s) > durable).find(fits);
        match younger.or_else(|| all.iter().rev().find(fits)) {
            Some(s) => Ok((Some(*s), value)),
            None if self.log.initial.word(at) == value => Ok((None, value)),
            None => {
                let hint = format!("{} stores to it so far", all.len());
                Err(f.hinted(format!("no store has written {value:#x} to {at}"), Some(hint)))
            }
        }
    }
}
