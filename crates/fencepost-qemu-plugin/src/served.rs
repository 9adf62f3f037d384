//! A program that is started once for many images: it runs to the first system call that may depend on its image, and a copy of
//! it goes on from there for each.
//!
//! Whoever asks for it holds the other end of the socket that is the standard input at the start, and sends `r` for each image; the
//! answers are the copy's number, its end as `waitid` tells it (code, then status), and `k` lets the number go.

use crate::guest;
use crate::qemu;
use crate::warm::Warm;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, setpgid, waitid};
use rustix::thread::gettid;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A program before and while it is copied.
pub(crate) struct Served {
    control: Mutex<Option<File>>,
    /// The standard input of each copy.
    input: PathBuf,
    /// Where it writes.
    output: PathBuf,
    /// The folder in which its image lies.
    folder: PathBuf,
    /// Whether nothing of the image is known yet.
    waits: AtomicBool,
    /// Where the program keeps the number of its only thread.
    thread: AtomicU64,
    warm: Warm,
}

/// Lowest number of the socket's descriptor in the program.
const CONTROL: i32 = 200;

impl Served {
    /// Takes the socket that is the standard input, and puts the image there.
    pub(crate) fn new(input: &str, output: &str, folder: &str) -> Result<Served, String> {
        let told = |e: rustix::io::Errno| format!("standard input: {e}");
        let control = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), CONTROL).map_err(told)?;
        let served = Served {
            control: Mutex::new(Some(File::from(control))),
            input: PathBuf::from(input),
            output: PathBuf::from(output),
            folder: Path::new(folder).canonicalize().map_err(|e| format!("{folder}: {e}"))?,
            waits: AtomicBool::new(true),
            thread: AtomicU64::new(0),
            warm: Warm::new()?,
        };
        served.take_input().map_err(told)?;
        Ok(served)
    }
    fn take_input(&self) -> rustix::io::Result<()> {
        let input = open(&self.input, OFlags::RDWR, Mode::empty())
            .or_else(|_| open(&self.input, OFlags::RDONLY, Mode::empty()))?;
        rustix::stdio::dup2_stdin(input)
    }
    fn take_output(&self) -> rustix::io::Result<()> {
        let output = open(&self.output, OFlags::WRONLY | OFlags::APPEND, Mode::empty())?;
        rustix::stdio::dup2_stdout(&output)?;
        rustix::stdio::dup2_stderr(&output)
    }
    /// A block of instructions was translated.
    pub(crate) fn translated(&self, at: u64) {
        if !self.waits.load(Relaxed) {
            self.warm.note(at);
        }
    }
    /// Before a system call: serves, if what comes may depend on the image. True in a copy.
    pub(crate) fn copied(&self, number: i64, arguments: &[u64; 6]) -> bool {
        const SET_TID_ADDRESS: i64 = 218;
        if !self.waits.load(Relaxed) {
            return false;
        }
        if number == SET_TID_ADDRESS {
            self.thread.store(arguments[0], Relaxed);
        }
        if self.is_start(number, arguments) {
            return false;
        }
        let control = self.control.lock().ok().and_then(|mut c| c.take());
        match control.map(|c| self.serve(c)) {
            Some(Some(())) => true,
            // Nobody asks any more.
            _ => end(),
        }
    }
    /// Makes a copy for each image. `None` in the end, and otherwise this is a copy.
    fn serve(&self, mut control: File) -> Option<()> {
        let mut asked = [0];
        self.warm.begin();
        loop {
            control.read_exact(&mut asked).ok()?;
            // SAFETY: as the emulator itself forks for the program, in a system call of its only thread.
            let copy = unsafe {
                qemu::fork_start();
                let copy = qemu::fork();
                qemu::fork_end(i32::from(copy == 0));
                copy
            };
            if copy == 0 {
                return self.begin();
            }
            let copy = Pid::from_raw(copy)?;
            let _ = setpgid(Some(copy), Some(copy));
            control.write_all(&copy.as_raw_nonzero().get().to_le_bytes()).ok()?;
            let ended = waitid(WaitId::Pid(copy), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok()??;
            let (code, status) = (
                ended.raw_code(),
                ended.exit_status().or(ended.terminating_signal()).unwrap_or(0),
            );
            control
                .write_all(&[code.to_le_bytes(), status.to_le_bytes()].concat())
                .ok()?;
            control.read_exact(&mut asked).ok()?;
            let _ = waitid(WaitId::Pid(copy), WaitIdOptions::EXITED);
            self.warm.translate();
        }
    }
    /// A copy begins.
    fn begin(&self) -> Option<()> {
        self.waits.store(false, Relaxed);
        let _ = setpgid(None, Some(getpid()));
        self.take_input().ok()?;
        self.take_output().ok()?;
        // By this number it would send a signal to itself.
        guest::write(self.thread.load(Relaxed), gettid().as_raw_nonzero().get() as u32);
        Some(())
    }
    /// Whether a system call belongs to the start of any program, whatever its image.
    fn is_start(&self, number: i64, [first, second, third, _, fifth, _]: &[u64; 6]) -> bool {
        /// What would make or change a file: `O_ACCMODE`, `O_CREAT`, `O_TRUNC`.
        const CHANGES: u64 = 0o3 | 0o100 | 0o1000;
        let input = |fd: &u64| *fd as i32 == 0;
        match number {
            // mmap
            9 => !input(fifth),
            // mprotect, munmap, brk, rt_sigaction, rt_sigprocmask, mremap, madvise, getuid, getgid, geteuid, getegid, uname,
            // sigaltstack, getrlimit, arch_prctl, futex, set_tid_address, set_robust_list, prlimit64, getrandom, rseq
            10..=14 | 25 | 28 | 63 | 97 | 102 | 104 | 107 | 108 | 131 | 158 | 202 | 218 | 273 | 302 | 318 | 334 => true,
            // read, close, fstat, lseek, pread64, fcntl
            0 | 3 | 5 | 8 | 17 | 72 => !input(first),
            // open, openat
            2 => second & CHANGES == 0 && !self.is_image(*first),
            257 => third & CHANGES == 0 && !self.is_image(*second),
            // stat, lstat, access, readlink; newfstatat, readlinkat, faccessat
            4 | 6 | 21 | 89 => !self.is_image(*first),
            262 | 267 | 269 => !input(first) && !self.is_image(*second),
            _ => false,
        }
    }
    /// Whether a path of the program is of its image: in the same folder.
    fn is_image(&self, path: u64) -> bool {
        let path = PathBuf::from(OsString::from_vec(guest::text(path)));
        // No path names a descriptor.
        if path.as_os_str().is_empty() {
            return false;
        }
        let whole = path
            .canonicalize()
            .or_else(|_| std::path::absolute(&path))
            .unwrap_or(path);
        whole.starts_with(&self.folder) || self.folder.starts_with(&whole)
    }
}

/// Ends without a word: nothing was observed here.
fn end() -> ! {
    // SAFETY: without precondition; nothing of this process is needed any more.
    unsafe { qemu::_exit(0) }
}
