//! Reading the text format.

use super::fields::{FLUSHES, Fields, Persistent, lookup, nearest};
use super::header::header_of;
use super::{LogError, Origin, RecordedLog, Work};
use fencepost_kernel::{
    Addr, Fence, HwThread, Image, LineAddr, QueueId, StoreId, StoreInfo, Trace, TraceEvent, TraceKind, TxId, Width,
    planted,
};
use rustc_hash::FxHashMap;
use std::panic::Location;

const HARDWARE_WORDS: [&str; 5] = ["durable", "accepted", "persistent", "initial", "file"];
const THREAD_WORDS: [&str; 17] = [
    "store",
    "nt",
    "load",
    "rmw",
    "begin",
    "end",
    "ack",
    "tx-begin",
    "tx-commit",
    "tx-abort",
    "tx-flush",
    "bind",
    "release",
    "commit-queue",
    "work",
    "warm",
    "sync",
];

/// What the lines so far add up to.
pub(super) struct Parser {
    pub(super) log: RecordedLog,
    /// In the order of their addresses.
    pub(super) ranges: Vec<Persistent>,
    /// Bytes of declared ranges.
    pub(super) persistent_bytes: u64,
    /// Memory as the stores so far left it, and as it is durable.
    memory: Image,
    pub(super) media: Image,
    /// Stores of each word, in order.
    pub(super) versions: FxHashMap<Addr, Vec<StoreId>>,
    tx: Vec<Option<TxId>>,
    /// Events of the reads, in the order of their lines.
    reads: Vec<u32>,
}

/// Reads a log.
///
/// # Errors
/// The first line that cannot be understood, with the reason and a hint.
pub fn parse(text: &str) -> Result<RecordedLog, LogError> {
    parse_over(text, &Image::default())
}

/// Reads a log of an execution that started from the durable memory `initial`; `initial` lines of the log change it.
///
/// # Errors
/// As [`parse`].
pub fn parse_over(text: &str, initial: &Image) -> Result<RecordedLog, LogError> {
    let mut lines = text.lines().enumerate().map(|(i, l)| (i + 1, without_comment(l)));
    let header = lines.by_ref().find(|(_, l)| !l.trim().is_empty());
    header_of(header)?;
    let mut parser = Parser::new(initial);
    for (number, line) in lines.filter(|(_, l)| !l.trim().is_empty()) {
        parser.line(number, line)?;
    }
    Ok(parser.log)
}

/// Cuts a comment off. A `#` opens a comment only at the start of a word: `0=#3` names a store.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (i, c) in line.char_indices() {
        if c == '#' && before.is_whitespace() {
            return &line[..i];
        }
        before = c;
    }
    line
}

impl Parser {
    fn new(initial: &Image) -> Parser {
        let log = RecordedLog {
            trace: Trace::default(),
            records: Vec::new(),
            named: Vec::new(),
            initial: initial.clone(),
            event_lines: Vec::new(),
            origins: Vec::new(),
            work: Vec::new(),
            persistent_bytes: 0,
            files: Vec::new(),
            warm: Vec::new(),
        };
        let (memory, media) = (initial.clone().track_writers(), initial.clone().track_writers());
        Parser {
            log,
            ranges: Vec::new(),
            persistent_bytes: 0,
            memory,
            media,
            versions: FxHashMap::default(),
            tx: Vec::new(),
            reads: Vec::new(),
        }
    }
    pub(super) fn push(&mut self, line: usize, thread: Option<HwThread>, kind: TraceKind) {
        self.log.trace.events.push(TraceEvent { thread, kind });
        self.log.event_lines.push(line);
    }

    fn line(&mut self, number: usize, text: &str) -> Result<(), LogError> {
        let (text, source) = match text.split_once('@') {
            Some((text, source)) => (text, Some(source.trim().to_owned())),
            None => (text, None),
        };
        let mut f = Fields::new(number, text);
        match f.next("a word")? {
            "persistent" => self.persistent(&mut f)?,
            "file" => self.file(&mut f)?,
            "fencepost-log" => {
                let hint = "each execution is read for itself: `crash` and `judge` do so";
                return Err(f.hinted("another execution begins here", Some(hint.to_owned())));
            }
            "initial" => {
                let (at, value) = (f.address(&self.ranges)?, f.number("a value")?);
                for image in [&mut self.log.initial, &mut self.memory, &mut self.media] {
                    image.set_word(at.word(), value, None);
                }
            }
            "durable" => self.durable(number, &mut f)?,
            "accepted" => {
                let line = f.address(&self.ranges)?.line();
                let mut by = [None; 8];
                for (i, content) in self.contents(&mut f)? {
                    by[i] = Some(self.resolve(&f, line, i, content)?.0).flatten();
                }
                self.push(number, None, TraceKind::Accepted { line, by });
            }
            word => {
                let thread = word.parse::<u8>().map(HwThread).map_err(|_| {
                    f.hinted(
                        format!("expected a thread number or a keyword; found `{word}`"),
                        nearest(word, HARDWARE_WORDS),
                    )
                })?;
                self.thread_event(number, thread, source, &mut f)?;
            }
        }
        f.end()
    }

    fn thread_event(
        &mut self,
        number: usize,
        thread: HwThread,
        source: Option<String>,
        f: &mut Fields<'_>,
    ) -> Result<(), LogError> {
        self.log.trace.threads = self.log.trace.threads.max(u32::from(thread.0) + 1);
        self.tx.resize(self.log.trace.threads as usize, None);
        let word = f.next("what the thread did")?;
        if word == "work" {
            self.log.work.push(Work {
                event: self.log.trace.events.len(),
                thread,
                instructions: f.small("a number of instructions")?,
            });
            return Ok(());
        }
        if word == "warm" {
            return self.warm(thread, f);
        }
        let kind = match word {
            "store" | "nt" => TraceKind::Store(self.store(number, thread, word == "nt", source, f)?),
            "load" => {
                let addr = f.address(&self.ranges)?.word();
                let from = self.read_from(addr, f)?;
                TraceKind::Load { addr, from }
            }
            "rmw" => {
                let addr = f.address(&self.ranges)?.word();
                let from = self.memory.writer(addr);
                let stored = f.peek().filter(|word| *word != "needs");
                let stored = stored.map(|_| f.number("a value")).transpose()?;
                let store = stored.map(|value| self.new_store(number, thread, addr, value, false, source));
                TraceKind::Rmw { addr, from, store }
            }
            "begin" => TraceKind::OpBegin(f.small("an operation")?),
            "end" => TraceKind::OpEnd(f.small("an operation")?),
            "ack" => {
                let op = f.small("an operation")?;
                let not_read = planted!("judge.ack-not-read", "an acknowledgement of a log is one");
                match not_read {
                    false => TraceKind::Ack(op),
                    true => TraceKind::OpEnd(op),
                }
            }
            "tx-begin" | "tx-commit" | "tx-abort" => self.transaction(thread, word, f)?,
            "tx-flush" => TraceKind::TxFlush,
            "sync" => {
                let (base, len) = f.range(&self.ranges)?;
                TraceKind::Sync { base, len }
            }
            "bind" | "release" => self.bind(word, f)?,
            "commit-queue" => TraceKind::CommitQueue(QueueId(f.small("a queue")?)),
            _ => {
                if let Ok(fence) = word.parse::<Fence>() {
                    TraceKind::Fence(fence)
                } else if let Some(kind) = lookup(&FLUSHES, word) {
                    let next = planted!("judge.flush-of-next-line", "a flush names the line of its address");
                    TraceKind::Flush {
                        line: LineAddr(f.address(&self.ranges)?.line().0 + u64::from(next)),
                        kind,
                    }
                } else {
                    let fences = Fence::ALL.map(|f| f.to_string());
                    let known = fences
                        .iter()
                        .map(String::as_str)
                        .chain(FLUSHES.iter().map(|x| x.0))
                        .chain(THREAD_WORDS);
                    return Err(f.hinted(format!("unknown event `{word}`"), nearest(word, known)));
                }
            }
        };
        self.push(number, Some(thread), kind);
        if matches!(
            kind,
            TraceKind::Store(_) | TraceKind::Load { .. } | TraceKind::Rmw { .. }
        ) {
            self.needs(thread, f)?;
        }
        if matches!(kind, TraceKind::Load { .. } | TraceKind::Rmw { .. }) {
            self.reads.push(self.log.trace.next_event() - 1);
        }
        Ok(())
    }

    /// The reads that the event just added depends on.
    fn needs(&mut self, thread: HwThread, f: &mut Fields<'_>) -> Result<(), LogError> {
        while f.take("needs") {
            let number = f.number("the number of a read")?;
            let index = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
            let Some(on) = index.and_then(|i| self.reads.get(i)).copied() else {
                let hint = format!(
                    "loads and rmws are numbered from 1 in the order of their lines; there are {} so far",
                    self.reads.len()
                );
                return Err(f.hinted(format!("there is no read {number} yet"), Some(hint)));
            };
            if self.log.trace.events[on as usize].thread != Some(thread) {
                return Err(f.error(format!("read {number} is not by thread {}", thread.0)));
            }
            self.log.trace.depends_on(on);
        }
        Ok(())
    }

    fn transaction(&mut self, thread: HwThread, word: &str, f: &mut Fields<'_>) -> Result<TraceKind, LogError> {
        let id = TxId(f.small("a transaction")?);
        let open = &mut self.tx[thread.index()];
        match (word, *open) {
            ("tx-begin", Some(o)) => Err(f.error(format!("transaction {} is still open", o.0))),
            ("tx-begin", None) => {
                *open = Some(id);
                Ok(TraceKind::TxBegin(id))
            }
            (_, o) if o != Some(id) => Err(f.error(format!("transaction {} is not open", id.0))),
            ("tx-commit", _) => {
                *open = None;
                Ok(TraceKind::TxCommit(id))
            }
            _ => {
                *open = None;
                Ok(TraceKind::TxAbort(id))
            }
        }
    }

    fn bind(&mut self, word: &str, f: &mut Fields<'_>) -> Result<TraceKind, LogError> {
        let (base, len) = f.range(&self.ranges)?;
        if word == "release" {
            return Ok(TraceKind::Release { base, len });
        }
        if !f.take("queue") {
            return Err(f.error("expected `queue` and its number"));
        }
        let queue = QueueId(f.small("a queue")?);
        Ok(TraceKind::Bind { base, len, queue })
    }

    fn store(
        &mut self,
        number: usize,
        thread: HwThread,
        nt: bool,
        source: Option<String>,
        f: &mut Fields<'_>,
    ) -> Result<StoreId, LogError> {
        let (at, value) = (f.address(&self.ranges)?, f.number("a value")?);
        let width = match f.peek().filter(|word| *word != "needs") {
            None | Some("w8") => Width::B8,
            Some("w1") => Width::B1,
            Some("w2") => Width::B2,
            Some("w4") => Width::B4,
            Some(other) => {
                let known = nearest(other, ["needs"]);
                return Err(f.hinted(format!("expected a width (w1, w2, w4 or w8); found `{other}`"), known));
            }
        };
        if f.peek().is_some_and(|word| word != "needs") {
            f.maybe();
        }
        if at.0 % width.bytes() != 0 {
            return Err(f.error(format!(
                "a store of {} bytes must be aligned to its width",
                width.bytes()
            )));
        }
        let whole = width.insert(self.memory.word(at), at.0, value);
        Ok(self.new_store(number, thread, at.word(), whole, nt, source))
    }

    fn new_store(
        &mut self,
        line: usize,
        thread: HwThread,
        addr: Addr,
        value: u64,
        nt: bool,
        source: Option<String>,
    ) -> StoreId {
        let stores = &mut self.log.trace.stores;
        let tx = self.tx[thread.index()];
        // A log has no `Location`s; `origins` says where its stores come from.
        stores.push(StoreInfo {
            thread,
            addr,
            value,
            nt,
            tx,
            source: Location::caller().into(),
        });
        let id = StoreId::from_index(stores.len() - 1).expect("a log has fewer than 2^32 lines");
        let mut frames = source.as_deref().unwrap_or_default().split(" < ").map(str::to_owned);
        self.log.origins.push(Origin {
            line,
            source: frames.next().filter(|s| !s.is_empty()),
            callers: frames.collect(),
        });
        self.memory.set_word(addr, value, Some(id));
        self.versions.entry(addr).or_default().push(id);
        id
    }

    fn read_from(&self, addr: Addr, f: &mut Fields<'_>) -> Result<Option<StoreId>, LogError> {
        if !f.take("from") {
            return Ok(self.memory.writer(addr));
        }
        if f.take("initial") {
            return Ok(None);
        }
        let number = f.number("a store number, or `initial`")?;
        let store = self.numbered(f, number)?;
        match self.log.trace.store(store).addr == addr {
            true => Ok(Some(store)),
            false => Err(f.error(format!("store {number} did not write {addr}"))),
        }
    }

    pub(super) fn numbered(&self, f: &Fields<'_>, number: u64) -> Result<StoreId, LogError> {
        let stores = self.log.trace.stores.len();
        let index = usize::try_from(number)
            .ok()
            .and_then(|n| n.checked_sub(1))
            .filter(|i| *i < stores);
        index.and_then(StoreId::from_index).ok_or_else(|| {
            let hint = format!("stores are numbered from 1 in the order of their lines; there are {stores} so far");
            f.hinted(format!("there is no store {number} yet"), Some(hint))
        })
    }
}
