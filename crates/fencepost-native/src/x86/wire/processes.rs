//! Processes that are started and killed, and what they leave.

use super::super::file::PmFile;
use super::super::patience::Patience;
use super::super::scratch::Scratch;
use super::beliefs::Beliefs;
use super::board::{Board, next_of};
use super::replica::{number_of, size_of_file};
use crate::error::NativeError;
use crate::wire::{Belief, ClientsPlan, ServerPlan, WireLeft, WireRequest};
use fencepost_kernel::EpochId;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

/// A process that has not done what is waited for by then is broken. Time in which it waited for a processor does not count.
const PATIENCE: Duration = Duration::from_secs(60);

/// How the processes are started.
pub struct Children<'a> {
    /// A server.
    pub server: &'a dyn Fn(&WireRequest, &ServerPlan) -> Command,
    /// Clients.
    pub clients: &'a dyn Fn(&WireRequest, &ClientsPlan) -> Command,
}

/// A process, killed when dropped.
pub(super) struct Process(Child);
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
impl Process {
    /// Starts it.
    pub(super) fn start(mut command: Command) -> Result<Process, NativeError> {
        let child = command.spawn();
        Ok(Process(
            child.map_err(|e| NativeError::Child(format!("did not start: {e}")))?,
        ))
    }
    /// Waits until `done`, unless the process ends by itself.
    pub(super) fn until(&mut self, what: &str, done: impl Fn() -> bool) -> Result<(), NativeError> {
        let patience = Patience::with(&self.0, PATIENCE);
        while !done() {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(NativeError::Child(format!("ended by itself: {status}")));
            }
            if patience.is_over() {
                return Err(NativeError::Child(what.into()));
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }
}

/// The files of a server, and the server.
pub(super) struct Site<'a> {
    request: &'a WireRequest,
    children: &'a Children<'a>,
    plan: ServerPlan,
    /// What it says.
    pub board: Arc<Board>,
    /// The file of its memory.
    pub file: PmFile,
    _board: Scratch,
}

impl<'a> Site<'a> {
    /// Empty files for the server of `request`.
    pub(super) fn new(
        request: &'a WireRequest,
        children: &'a Children<'a>,
        pm: Option<&Path>,
        traced: bool,
    ) -> Result<Site<'a>, NativeError> {
        let file = PmFile::create(pm, size_of_file(request).0)?;
        let board = Scratch::new("board");
        Ok(Site {
            request,
            children,
            plan: ServerPlan {
                pm: file.path.clone(),
                board: board.path().to_owned(),
                traced,
                kept: pm.is_some(),
            },
            board: Arc::new(Board::open(board.path(), traced)?),
            file,
            _board: board,
        })
    }
    /// Where it says it.
    pub(super) fn board_path(&self) -> PathBuf {
        self.plan.board.clone()
    }
    /// Starts a server on them.
    pub(super) fn server(&self) -> Result<Process, NativeError> {
        self.board.set_port(0);
        Process::start((self.children.server)(self.request, &self.plan))
    }
    /// Waits until `server` listens.
    pub(super) fn listens(&self, server: &mut Process) -> Result<(), NativeError> {
        server.until("did not listen", || self.board.port() != 0)
    }
    /// What no process changes any more: the file. With `notes`, what servers noted.
    pub(super) fn left(&self, beliefs: Vec<Vec<Belief>>, notes: bool) -> Result<WireLeft, NativeError> {
        let file = std::fs::read(&self.file.path).map_err(|why| NativeError::File {
            action: "read",
            path: self.file.path.clone(),
            why,
        })?;
        let mut left = WireLeft {
            noted: if notes { self.board.noted() } else { Vec::new() },
            beliefs,
            next: Vec::new(),
            file,
        };
        left.next = (0..self.request.channels)
            .map(|c| next_of(left.word(number_of(c))))
            .collect();
        Ok(left)
    }
}

/// What all clients believe.
pub(super) fn all(beliefs: &Beliefs, channels: u8) -> Vec<Vec<Belief>> {
    (0..channels).map(|c| beliefs.of(c)).collect()
}
/// A belief of which nobody knows when it was formed.
pub(super) fn final_belief(id: Option<EpochId>) -> Vec<Belief> {
    id.map(|id| Belief { id, noted: 0 }).into_iter().collect()
}
