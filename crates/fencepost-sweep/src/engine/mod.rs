//! Runs what is not finished: on several threads, beside other processes in the same folder, within a bound of memory.

mod board;
mod memory;

pub use memory::default_bound;

use crate::keep;
use board::{Board, Turn};
use fencepost_kernel::stop;
use fencepost_run::kept::Identity;
use fencepost_run::result::RunResult;
use fencepost_run::store::{Claim, Store};
use fencepost_run::{LabError, panic_text};
use memory::Memory;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// How a cell came to its end.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It ran.
    Ran,
    /// It was finished: by an earlier call, or by another process meanwhile.
    Resumed,
    /// It is the same run as another cell of this call.
    Shared,
}

/// What is to be run, by number.
pub trait Work: Sync {
    /// A cell that is resolved.
    type Ready;
    /// Number of cells.
    fn cells(&self) -> usize;
    /// What identifies the run of a cell, and what is run. Equal configurations have equal identities.
    ///
    /// # Errors
    /// What is wrong with the cell.
    fn resolve(&self, cell: usize) -> Result<(Identity, Self::Ready), LabError>;
    /// Runs a cell.
    ///
    /// # Errors
    /// Why it cannot.
    fn run(&self, ready: &Self::Ready) -> Result<RunResult, LabError>;
    /// Is told of every cell that came to its end, by one thread at a time.
    ///
    /// # Errors
    /// An error here, unlike one of the cell, stops the whole work.
    fn ended(&self, cell: usize, outcome: Result<&RunResult, &LabError>, step: Step) -> Result<(), LabError>;
}

/// How work is done.
#[derive(Clone)]
pub struct Engine<'a> {
    /// Where results are kept; without one nothing is resumed.
    pub store: Option<&'a Store>,
    /// Runs at a time.
    pub jobs: usize,
    /// Bytes of memory above which no further run is begun while another one is under way; `None`: no bound.
    pub memory: Option<u64>,
    /// Ends the work soon when set: what is finished stays.
    pub stop: Arc<AtomicBool>,
}

/// How many cells came to which end.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs of this call.
    pub ran: usize,
    /// Runs that were finished already.
    pub resumed: usize,
    /// Cells that are the same run as another one.
    pub shared: usize,
    /// Cells that failed.
    pub failed: usize,
}

impl Engine<'_> {
    /// Brings every cell to its end. A cell that fails says so and stops no other; a folder that cannot be written stops all.
    ///
    /// # Errors
    /// Of the folder, or of [`Work::ended`].
    pub fn execute<W: Work>(&self, work: &W) -> Result<Tally, LabError> {
        let cells = work.cells();
        let shop = Shop {
            engine: self,
            work,
            board: Board::new(cells, self.store.is_none()),
            memory: Memory::new(self.memory),
            halted: AtomicBool::new(false),
            tally: Mutex::default(),
            fatal: Mutex::default(),
        };
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, cells.max(1)) {
                scope.spawn(|| {
                    stop::with(&self.stop, || shop.worker());
                });
            }
        });
        let fatal = shop.fatal.into_inner().unwrap_or_else(|e| e.into_inner());
        let tally = shop.tally.into_inner().unwrap_or_else(|e| e.into_inner());
        fatal.map_or(Ok(tally), Err)
    }
}

/// What the workers share.
struct Shop<'a, W> {
    engine: &'a Engine<'a>,
    work: &'a W,
    board: Board,
    memory: Memory,
    /// Set by an error that stops the whole work; runs under way end as they would.
    halted: AtomicBool,
    tally: Mutex<Tally>,
    fatal: Mutex<Option<LabError>>,
}
impl<W: Work> Shop<'_, W> {
    fn is_over(&self) -> bool {
        self.halted.load(Ordering::Relaxed) || self.engine.stop.load(Ordering::Relaxed)
    }
    fn worker(&self) {
        while !self.is_over() {
            let Some(cell) = self.board.next(&|| self.is_over()) else {
                break;
            };
            // A run that is stopped unwinds; whatever else does is a defect, and is the cell's error.
            let outcome = catch_unwind(AssertUnwindSafe(|| self.cell(cell)));
            let outcome = outcome.unwrap_or_else(|panic| match panic.is::<stop::Stopped>() {
                true => Ok(()),
                false => Err(LabError::Internal(panic_text(panic.as_ref()))),
            });
            if let Err(e) = outcome {
                self.fatal.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(e);
                self.halted.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Brings one cell to its end, or leaves it for later. Errors stop the whole work.
    fn cell(&self, cell: usize) -> Result<(), LabError> {
        let (identity, ready) = match self.work.resolve(cell) {
            Ok(resolved) => resolved,
            Err(e) => return self.ended(&[cell], Err(&e), Step::Ran),
        };
        let there = match self.board.begin(&identity.key, cell) {
            Turn::Waits => return Ok(()),
            Turn::Known(result) => return self.ended(&[cell], Ok(&result), Step::Shared),
            Turn::Mine { again: true } => Step::Shared,
            Turn::Mine { again: false } => Step::Resumed,
        };
        if let Some(result) = self.kept(&identity) {
            return self.finish(&identity, Ok(result), there);
        }
        let Some(claim) = self.claim(&identity)? else {
            self.board.put_back(&identity.key);
            return Ok(());
        };
        // Another process may have finished it between the look and the claim.
        if let Some(result) = self.kept(&identity) {
            drop(claim);
            return self.finish(&identity, Ok(result), Step::Resumed);
        }
        let result = self.run(&ready);
        if let (Some(store), Ok(result)) = (self.engine.store, &result) {
            keep::keep(store, &identity, result)?;
        }
        drop(claim);
        self.finish(&identity, result, Step::Ran)
    }

    fn kept(&self, identity: &Identity) -> Option<RunResult> {
        self.engine.store.and_then(|s| keep::finished(s, identity))
    }
    /// The claim on a run, an empty one without a folder; `None` while another process has it.
    fn claim(&self, identity: &Identity) -> Result<Option<Option<Claim>>, LabError> {
        match self.engine.store {
            None => Ok(Some(None)),
            Some(store) => Ok(store.claim(&identity.key)?.map(Some)),
        }
    }
    fn run(&self, ready: &W::Ready) -> Result<RunResult, LabError> {
        let _admitted = self.memory.admit(&|| self.is_over());
        let outcome = catch_unwind(AssertUnwindSafe(|| self.work.run(ready)));
        outcome.unwrap_or_else(|panic| match panic.is::<stop::Stopped>() {
            true => std::panic::resume_unwind(panic),
            false => Err(LabError::Internal(panic_text(panic.as_ref()))),
        })
    }
    /// Tells of a run, and of all cells that waited for it.
    fn finish(&self, identity: &Identity, result: Result<RunResult, LabError>, step: Step) -> Result<(), LabError> {
        let cells = self.board.end(&identity.key, result.as_ref().ok());
        self.ended(&cells, result.as_ref(), step)
    }
    fn ended(&self, cells: &[usize], outcome: Result<&RunResult, &LabError>, step: Step) -> Result<(), LabError> {
        let mut tally = self.tally.lock().unwrap_or_else(|e| e.into_inner());
        for (i, cell) in cells.iter().enumerate() {
            let step = if i == 0 { step } else { Step::Shared };
            let count = match (outcome, step) {
                (Err(_), _) => &mut tally.failed,
                (_, Step::Ran) => &mut tally.ran,
                (_, Step::Resumed) => &mut tally.resumed,
                (_, Step::Shared) => &mut tally.shared,
            };
            *count += 1;
            self.work.ended(*cell, outcome, step)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
