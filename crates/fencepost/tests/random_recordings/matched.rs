//! Whether a log says what was to be said: of each actor all of it and nothing else, in its order, with the values that are there at that time.

use super::lines::{Files, Line, Place, number};
use super::orders::Orders;
use super::script::{Change, Script, Step};
use super::spaces::{At, PAGE};
use std::collections::{HashMap, VecDeque};

/// What is known while a log is read.
pub(super) struct Match<'s> {
    script: &'s Script,
    /// What the files held before.
    content: &'s [Vec<u8>],
    steps: Vec<VecDeque<Step>>,
    memory: HashMap<At, u8>,
    /// The actors of the log's threads, and the other way round.
    actors: HashMap<u64, usize>,
    threads: HashMap<usize, u64>,
    orders: Orders,
    /// Who has told something, and what it had done by then: how many lines there were.
    told: HashMap<usize, (u64, u64)>,
    /// What each actor has loaded since its last step, by words.
    loads: HashMap<(usize, At), u64>,
    done: Vec<u64>,
    begun: bool,
    files: Files,
}

impl<'s> Match<'s> {
    pub(super) fn new(script: &'s Script, content: &'s [Vec<u8>]) -> Match<'s> {
        Match {
            script,
            steps: script
                .actors
                .iter()
                .map(|a| a.steps.iter().cloned().collect())
                .collect(),
            content,
            memory: content
                .iter()
                .enumerate()
                .flat_map(|(f, c)| (0..).zip(c).map(move |(at, b)| ((f, at), *b)))
                .collect(),
            actors: HashMap::new(),
            threads: HashMap::new(),
            orders: Orders::default(),
            told: HashMap::new(),
            loads: HashMap::new(),
            done: vec![0; script.actors.len()],
            begun: false,
            files: Files::default(),
        }
    }
    /// Holds a log to its script, and to what the files hold now.
    pub(super) fn hold(mut self, log: &str, now: &[Vec<u8>]) -> Result<(), String> {
        for (i, text) in log.lines().enumerate().skip(1) {
            let (event, place) = text.split_once(" @ ").unwrap_or((text, ""));
            self.line(event, place)
                .map_err(|why| format!("line {}: `{event}`: {why}", i + 1))?;
        }
        for actor in 0..self.steps.len() {
            while let Some(step) = self.steps[actor].front().cloned() {
                if !self.passes(&step, actor)? {
                    return Err(format!("actor {actor}: {step:?} is missing at the end"));
                }
                self.steps[actor].pop_front();
            }
        }
        for (file, content) in now.iter().enumerate() {
            let touched = self.files.areas.iter().any(|a| a.1 == file);
            let differs = |(at, b): &(usize, &u8)| self.memory.get(&(file, *at as u64)).copied().unwrap_or(0) != **b;
            if let Some((at, byte)) = content.iter().enumerate().find(differs).filter(|_| touched) {
                return Err(format!("f{file}+{at:#x} is {byte:#x} in the file, and not in the log"));
            }
            let length = self.script.files[file].length;
            if content.len() as u64 != length {
                return Err(format!("f{file} has {} bytes, and should have {length}", content.len()));
            }
        }
        Ok(())
    }
    fn byte(&self, at: At) -> u8 {
        self.memory.get(&at).copied().unwrap_or(0)
    }
    fn word(&self, (file, offset): At, width: u64) -> u64 {
        (0..width)
            .rev()
            .fold(0, |w, i| w << 8 | u64::from(self.byte((file, offset + i))))
    }
    fn put(&mut self, (file, offset): At, value: u64, width: u64) {
        for (i, byte) in value.to_le_bytes().into_iter().take(width as usize).enumerate() {
            self.memory.insert((file, offset + i as u64), byte);
        }
    }
    fn line(&mut self, event: &str, place: &str) -> Result<(), String> {
        let words: Vec<&str> = event.split(' ').collect();
        let bad = || "this is no line of a log".to_owned();
        match words[0] {
            "file" => {
                self.files.declares(&words).ok_or_else(bad)?;
                let declared = self.files.areas.last().map(|a| a.1);
                self.memory.retain(|(file, _), _| Some(*file) != declared);
                return Ok(());
            }
            "initial" => {
                let value = words.get(2).and_then(|w| number(w)).ok_or_else(bad)?;
                match self.files.place(words[1]).ok_or_else(bad)? {
                    Place::File(at) => self.put(at, value, 8),
                    Place::Length(file) if value == self.script.begin_lengths[file] => {}
                    other => return Err(format!("{other:?} began otherwise")),
                }
                return Ok(());
            }
            _ => {}
        }
        if !std::mem::replace(&mut self.begun, true) && !self.script.region {
            self.begins_as_it_was()?;
        }
        let mut line = self.files.line(&words).ok_or_else(bad)?;
        line.called = place.contains(" through ");
        if matches!(line.kind, "work" | "warm" | "begin") {
            return Ok(());
        }
        if let Some(Place::Volatile(address)) = line.at
            && matches!(line.kind, "load" | "store" | "rmw")
        {
            let (stores, loads) = (line.kind != "load", line.kind != "store");
            self.orders.meets(line.thread, (u64::MAX, address), stores, loads);
            if let Some(actor) = self.actors.get(&line.thread).copied() {
                if line.kind == "rmw" {
                    self.may_fence(actor);
                }
                self.tells(actor);
            }
            return Ok(());
        }
        if !place.contains("player.c:") {
            return Err(format!("it is told to be at `{place}`"));
        }
        let actor = self.actor(&line)?;
        if let Some(Place::File((file, offset))) = line.at
            && matches!(line.kind, "load" | "store" | "nt" | "rmw")
        {
            let word = (file as u64, offset / 8);
            self.orders.meets(
                line.thread,
                word,
                line.kind != "load",
                matches!(line.kind, "load" | "rmw"),
            );
        }
        if let ("load", Some(Place::File((file, offset)))) = (line.kind, line.at) {
            let at = (file, offset / 8 * 8);
            self.loads.insert((actor, at), self.word(at, 8));
            return Ok(());
        }
        self.event(actor, &line)?;
        self.orders.step(line.thread);
        self.tells(actor);
        Ok(())
    }
    /// What the log says that the files held is what they held.
    fn begins_as_it_was(&self) -> Result<(), String> {
        for (file, content) in self.content.iter().enumerate() {
            if let Some(at) = (0..content.len()).find(|at| self.byte((file, *at as u64)) != content[*at]) {
                return Err(format!("f{file}+{at:#x} held {:#x} at first", content[at]));
            }
        }
        Ok(())
    }
    /// Whose thread it is: each says so by its first store.
    fn actor(&mut self, line: &Line) -> Result<usize, String> {
        if let Some(actor) = self.actors.get(&line.thread) {
            return Ok(*actor);
        }
        let Some(Place::File((0, offset))) = line.at.filter(|_| line.kind == "store") else {
            return Err("a thread that has not said who it is".into());
        };
        let actor = (offset / 8) as usize;
        if actor >= self.steps.len() || self.actors.values().any(|a| *a == actor) {
            return Err("a thread that is nobody's".into());
        }
        self.actors.insert(line.thread, actor);
        self.threads.insert(actor, line.thread);
        self.tells(actor);
        Ok(actor)
    }
    /// An actor has come so far: what it tells next it has told, for all that a log can say.
    fn tells(&mut self, actor: usize) {
        let Some(thread) = self.threads.get(&actor).copied() else {
            return;
        };
        let lines = self.orders.lines(thread);
        for at in 0..self.steps[actor].len() {
            match &self.steps[actor][at] {
                Step::Posts(hand) => _ = self.told.entry(*hand).or_insert((thread, lines)),
                step if !self.passes(step, actor).unwrap_or(false) => return,
                _ => {}
            }
        }
    }
    /// An atomic on volatile memory may be a fence for what is on its way.
    fn may_fence(&mut self, actor: usize) {
        for at in 0..self.steps[actor].len() {
            let step = &mut self.steps[actor][at];
            if let Step::VolatileAtomic(seen) = step
                && !std::mem::replace(seen, true)
            {
                return;
            }
            let step = &self.steps[actor][at];
            if !self.passes(step, actor).unwrap_or(false) {
                return;
            }
        }
    }
    /// Whether a step needs nothing more.
    fn passes(&self, step: &Step, actor: usize) -> Result<bool, String> {
        Ok(match step {
            Step::Stores { want, .. } => want.is_empty(),
            Step::Written(want) => want.iter().all(|(at, b)| self.byte(*at) == *b),
            Step::VolatileAtomic(seen) => *seen,
            Step::Sync { pages, .. } => pages.is_empty(),
            Step::MaySync(..) | Step::Posts(_) => true,
            Step::Hears(hand) => {
                let thread = self.threads.get(&actor).copied().unwrap_or(u64::MAX);
                match self.told.get(hand) {
                    None => return Err(format!("{hand} is heard before it is told")),
                    Some((by, lines)) if self.orders.known(thread, *by) < *lines => {
                        return Err(format!("nothing says that {hand} was heard"));
                    }
                    Some(_) => true,
                }
            }
            _ => false,
        })
    }
    fn event(&mut self, actor: usize, line: &Line) -> Result<(), String> {
        loop {
            let Some(step) = self.steps[actor].pop_front() else {
                return Err(format!("actor {actor} has nothing more to do"));
            };
            let step = self.resolved(step);
            let taken = self.takes(actor, &step, line);
            match taken {
                Ok(left) => {
                    left.into_iter().rev().for_each(|s| self.steps[actor].push_front(s));
                    self.loads.retain(|(a, _), _| *a != actor);
                    return Ok(());
                }
                Err(why) if !self.passes(&step, actor)? => return Err(format!("actor {actor}: {step:?}: {why}")),
                Err(_) => {}
            }
        }
    }
    /// What is read elsewhere has its values now.
    fn resolved(&self, step: Step) -> Step {
        match step {
            Step::Filled { from, to } => {
                let want = to.iter().zip(&from).map(|(to, from)| (*to, self.byte(*from))).collect();
                Step::Stores {
                    want,
                    nt: false,
                    whole: false,
                }
            }
            step => step,
        }
    }
    /// Whether a line is of this step: what is left of it then.
    fn takes(&mut self, actor: usize, step: &Step, line: &Line) -> Result<Vec<Step>, String> {
        match (step, line.kind, line.at) {
            (Step::Stores { want, nt, whole }, "store" | "nt", Some(Place::File(at))) => {
                if *nt != (line.kind == "nt") || *whole && line.width as usize != want.len() {
                    return Err("it is another kind of store".into());
                }
                let mut want = want.clone();
                self.covers(at, line, |at, byte| want.contains(&(at, byte)))?;
                want.retain(|(b, _)| b.0 != at.0 || b.1 < at.1 || b.1 >= at.1 + line.width);
                self.put(at, line.number, line.width);
                Ok(vec![Step::Stores {
                    want,
                    nt: *nt,
                    whole: false,
                }])
            }
            (Step::Written(want), "store", Some(Place::File(at)))
                if line.called && want.first().is_some_and(|w| w.0.0 == at.0) =>
            {
                let wanted: HashMap<At, u8> = want.iter().copied().collect();
                let (first, end) = (want[0].0.1 / 8 * 8, want[want.len() - 1].0.1);
                // Between bytes that change one may be told that does not, or that lies behind the end.
                let same = |b: At, v: u8| self.byte(b) == v || v == 0 && b.1 > end;
                self.covers(at, line, |b, v| wanted.get(&b).map_or(same(b, v), |w| *w == v))?;
                // So may zeros between zeros, where a longer length shows what a shorter one has cut off.
                let zeros = line.number == 0 && want.iter().all(|w| w.1 == 0) && (first..=end).contains(&at.1);
                if self.passes(step, actor)? && !zeros {
                    return Err("all that changes is told".into());
                }
                self.put(at, line.number, line.width);
                Ok(vec![step.clone()])
            }
            (Step::Atomic { at, width, change }, "rmw", Some(Place::File(word))) if word == (at.0, at.1 / 8 * 8) => {
                let old = self.word(*at, *width);
                let new = match *change {
                    Change::Add(n) => old.wrapping_add(n),
                    Change::Set(n) => n,
                    Change::Or(n) => old | n,
                    Change::Swap(expected, n) if old == expected => n,
                    Change::Swap(..) => old,
                };
                self.put(*at, new, *width);
                match self.word(word, 8) {
                    made if made == line.number => Ok(Vec::new()),
                    made => Err(format!("it makes {made:#x} of {old:#x}")),
                }
            }
            (Step::Derived { from, to, width, added }, "store", Some(Place::File(at)))
                if at == *to && line.width == *width =>
            {
                let word = (from.0, from.1 / 8 * 8);
                // With one thread nobody says what was loaded.
                let loaded = self
                    .loads
                    .get(&(actor, word))
                    .copied()
                    .unwrap_or_else(|| self.word(word, 8));
                let value = (loaded >> (8 * (from.1 % 8))).wrapping_add(*added);
                self.put(at, line.number, line.width);
                let mask = u64::MAX >> (64 - 8 * width);
                match line.number == value & mask {
                    true => Ok(Vec::new()),
                    false => Err(format!("what was there at that time makes {:#x}", value & mask)),
                }
            }
            (Step::Flush(name, at), kind, Some(Place::File(of))) if kind == *name && of == *at => Ok(Vec::new()),
            (Step::Fence(name), kind, None) if kind == *name => Ok(Vec::new()),
            (Step::Sync { pages, whole }, "sync", Some(Place::File((file, from)))) => {
                self.syncs(pages, *whole, (file, from), line.number)
            }
            (Step::SyncRange(of, count), "sync", Some(Place::File(at))) if at == *of && line.number == *count => {
                Ok(self.length_sync(at.0))
            }
            (Step::MaySync(file, from), "sync", Some(Place::File((of, at)))) if of == *file && at >= *from => {
                Ok(Vec::new())
            }
            (Step::Length(file, length), "store", Some(Place::Length(of))) if of == *file && line.number == *length => {
                Ok(Vec::new())
            }
            (Step::LengthSync(file), "sync", Some(Place::Length(of))) if of == *file => Ok(Vec::new()),
            (Step::Done, "end", None) if line.number == self.done[actor] => Ok(vec![Step::Done]),
            (Step::Done, "ack", None) if line.number == self.done[actor] => {
                self.done[actor] += 1;
                Ok(Vec::new())
            }
            _ => Err("it is something else".into()),
        }
    }
    /// Whether each byte of a store is one that may be stored.
    fn covers(&self, (file, offset): At, line: &Line, may: impl Fn(At, u8) -> bool) -> Result<(), String> {
        let aligned = line.width.is_power_of_two() && line.width <= 8 && offset.is_multiple_of(line.width);
        let bytes = line.number.to_le_bytes();
        let all = (0..line.width).all(|i| may((file, offset + i), bytes[i as usize]));
        if aligned && all {
            Ok(())
        } else {
            Err("these bytes are not stored by it".into())
        }
    }
    fn syncs(&self, pages: &[At], whole: bool, (file, from): At, count: u64) -> Result<Vec<Step>, String> {
        let made: Vec<At> = (0..count.div_ceil(PAGE)).map(|i| (file, from + i * PAGE)).collect();
        let last = pages.iter().filter(|p| p.0 == file).map(|p| p.1).max().unwrap_or(0);
        let good = made.iter().all(|p| pages.contains(p) || whole && p.1 > last);
        if !good || !made.iter().any(|p| pages.contains(p)) {
            return Err("it makes something else durable".into());
        }
        let left = pages.iter().filter(|p| !made.contains(p)).copied().collect();
        let mut steps = self.length_sync(file);
        steps.push(Step::Sync { pages: left, whole });
        Ok(steps)
    }
    /// Whatever makes something of a file durable makes its length so, where that is told at all.
    fn length_sync(&self, file: usize) -> Vec<Step> {
        let told = self.files.lengths.values().any(|f| *f == file);
        told.then_some(Step::LengthSync(file)).into_iter().collect()
    }
}
