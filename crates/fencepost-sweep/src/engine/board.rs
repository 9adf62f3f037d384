//! Which cells are left, which runs are under way, and who waits for them.

use fencepost_run::result::RunResult;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

/// How often a run of another process is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What a worker does with a cell.
pub(super) enum Turn {
    /// It is the first to ask for this run, or asks again for one that ended in this call.
    Mine {
        /// Whether it ended in this call.
        again: bool,
    },
    /// Another thread runs it and will tell of this cell too.
    Waits,
    /// It ran in this call; only where nothing is kept on disk.
    Known(Box<RunResult>),
}

#[derive(Default)]
struct State {
    next: usize,
    /// Cells whose runs another process has claimed.
    later: VecDeque<usize>,
    /// Runs under way in this process, by key, with the cells that ask for them; the first is the one that is run.
    running: HashMap<String, Vec<usize>>,
    /// Runs that ended in this call.
    ended: HashSet<String>,
    /// Results of this call, where there is no folder to find them in.
    known: HashMap<String, RunResult>,
}

/// The cells of one call.
pub(super) struct Board {
    cells: usize,
    remembers: bool,
    state: Mutex<State>,
}
impl Board {
    /// So many cells; with `remembers`, results are held in memory for equal cells.
    pub(super) fn new(cells: usize, remembers: bool) -> Board {
        Board {
            cells,
            remembers,
            state: Mutex::default(),
        }
    }
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
    /// The next cell; those that other processes run come last, again and again until they are finished. `None` when none is left.
    pub(super) fn next(&self, is_over: &dyn Fn() -> bool) -> Option<usize> {
        let mut state = self.state();
        if state.next < self.cells {
            state.next += 1;
            return Some(state.next - 1);
        }
        let cell = state.later.pop_front()?;
        drop(state);
        if !is_over() {
            std::thread::sleep(LOOK);
        }
        Some(cell)
    }
    /// A worker has resolved a cell to this run.
    pub(super) fn begin(&self, key: &str, cell: usize) -> Turn {
        let mut state = self.state();
        if let Some(result) = state.known.get(key) {
            return Turn::Known(Box::new(result.clone()));
        }
        if let Some(waiting) = state.running.get_mut(key) {
            waiting.push(cell);
            return Turn::Waits;
        }
        state.running.insert(key.to_owned(), vec![cell]);
        Turn::Mine {
            again: state.ended.contains(key),
        }
    }
    /// Another process has claimed the run: its cells come again later.
    pub(super) fn put_back(&self, key: &str) {
        let mut state = self.state();
        let cells = state.running.remove(key).unwrap_or_default();
        state.later.extend(cells);
    }
    /// The run has ended; returns the cells that ask for it.
    pub(super) fn end(&self, key: &str, result: Option<&RunResult>) -> Vec<usize> {
        let mut state = self.state();
        if let Some(result) = result.filter(|_| self.remembers) {
            state.known.insert(key.to_owned(), result.clone());
        }
        if result.is_some() {
            state.ended.insert(key.to_owned());
        }
        state.running.remove(key).unwrap_or_default()
    }
}
