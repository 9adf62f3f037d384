//! Runs of the emulator: what it says of itself tells its own failures from those of the program.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Bytes at the end of what is said that are looked at.
const TAIL: usize = 1 << 14;

/// A run that has ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// Its number in the system.
    pub(crate) process: u32,
    /// The line in which the emulator, or its plugin, says that it failed.
    pub(crate) failure: Option<String>,
    /// Why the plugin could not begin, in one of the processes.
    pub(crate) unable: Option<String>,
}

/// Runs a command to its end. What it says on its standard error is passed on if it is `shown`.
pub(crate) fn run(command: &mut Command, shown: bool) -> io::Result<Ended> {
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let said = listen(&mut child, shown);
    let status = child.wait()?;
    // Processes that it has left behind may keep the pipe open.
    let mut tail = Vec::new();
    while let Ok(piece) = said.recv_timeout(Duration::from_millis(300)) {
        tail.extend(piece);
        let surplus = tail.len().saturating_sub(TAIL);
        tail.drain(..surplus);
    }
    let tail = String::from_utf8_lossy(&tail);
    Ok(Ended {
        status,
        process: child.id(),
        failure: failure(&tail),
        unable: unable(&tail),
    })
}
/// Passes on what a process says, as it says it.
fn listen(child: &mut Child, shown: bool) -> Receiver<Vec<u8>> {
    let (to, said) = channel();
    if let Some(mut pipe) = child.stderr.take() {
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut piece) {
                if shown {
                    let _ = io::stderr().write_all(&piece[..count]);
                }
                let _ = to.send(piece[..count].to_vec());
            }
        });
    }
    said
}

/// The line in which the emulator or its plugin says that it failed itself.
pub(crate) fn failure(said: &str) -> Option<String> {
    let own = |line: &&str| {
        let emulator = line.starts_with("qemu-") && line.contains("Assertion `")
            || line.starts_with("ERROR:") && line.contains("../") && line.contains("assertion failed")
            || line.contains("QEMU internal SIG")
            || line.starts_with("qemu: unhandled CPU exception");
        emulator || line.contains("panicked at") && line.contains("fencepost-qemu-plugin")
    };
    said.lines().find(own).map(str::to_owned)
}

/// What the plugin says if it cannot begin; the emulator says then that it could not load it.
fn unable(said: &str) -> Option<String> {
    let why = said.lines().find_map(|l| l.strip_prefix("fencepost: cannot record: "));
    let loaded = !said.contains("qemu_plugin_install returned error");
    why.filter(|_| !loaded).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_that_cannot_begin_says_why() {
        let own = "fencepost: cannot record: /tmp/j: No space left on device\n";
        let emulator = "qemu-x86_64: Could not load plugin p.so: qemu_plugin_install returned error code 1\n";
        let why = unable(&format!("{own}{emulator}"));
        assert_eq!(why.as_deref(), Some("/tmp/j: No space left on device"));
        assert_eq!(unable(own), None, "a program may say so");
        assert_eq!(unable(emulator), None);
    }

    #[test]
    fn what_the_emulator_says_of_itself_is_known_and_what_a_program_says_is_not() {
        for own in [
            "qemu-x86_64: ./include/qemu/rcu.h:102: rcu_read_unlock: Assertion `p_rcu_reader->depth != 0' failed.",
            "ERROR:../../plugins/core.c:235:qemu_plugin_vcpu_exit_hook: assertion failed: (success)",
            "qemu-x86_64: QEMU internal SIGSEGV {code=MAPERR, addr=0x20}",
            "qemu: unhandled CPU exception 0x5 - aborting",
            "thread '<unnamed>' panicked at /src/crates/fencepost-qemu-plugin/src/lib.rs:3:5:",
        ] {
            assert_eq!(failure(&format!("hello\n{own}\nbye\n")).as_deref(), Some(own));
        }
        for other in [
            "prog: a.c:7: main: Assertion `x == 1' failed.",
            "qemu: uncaught target signal 11 (Segmentation fault) - core dumped",
            "thread 'main' panicked at src/main.rs:3:5:",
            "qemu-x86_64: Could not open '/lib64/ld-linux-x86-64.so.2'",
            "ERROR: ../../a.c:235: no memory",
            "ERROR: assertion failed: x",
            "../../a.c:235: assertion failed: x",
            "the library libfencepost-qemu-plugin is there",
        ] {
            assert_eq!(failure(other), None);
        }
    }
    #[test]
    fn what_is_said_is_looked_at_to_its_end() {
        let line = "qemu-x86_64: a.c:1: f: Assertion `x' failed.";
        let script = format!(
            "yes | head -c 100000 >&2; echo \"{}\" >&2; exit 127",
            line.replace('`', "\\`")
        );
        let ended = run(Command::new("sh").args(["-c", &script]), false).unwrap();
        assert_eq!((ended.status.code(), ended.failure.as_deref()), (Some(127), Some(line)));
    }
}
