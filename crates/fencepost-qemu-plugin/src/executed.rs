//! Programs that a recorded program executes: they run under the emulator, too.

use crate::options::Options;
use crate::{guest, qemu};
use std::ffi::{CStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What becomes of an `execve`.
pub(crate) enum Plan {
    /// It is this command in place of the program.
    Emulated(Command),
    /// The system will refuse it.
    Native,
    /// Such a program cannot be followed.
    Impossible(String),
}

/// Scripts that name scripts as their interpreters, at most.
const DEPTH: usize = 4;

/// The running program.
pub(crate) fn program() -> PathBuf {
    // SAFETY: without precondition once the program is loaded; the path is a C string that stays.
    unsafe {
        let path = qemu::qemu_plugin_path_to_binary();
        match path.is_null() {
            true => PathBuf::new(),
            false => PathBuf::from(OsString::from_vec(CStr::from_ptr(path).to_bytes().to_vec())),
        }
    }
}

/// How a program is executed under the emulator.
pub(crate) fn prepare(options: &Options, [path, arguments, environment, ..]: [u64; 6]) -> Plan {
    let mut path = PathBuf::from(OsString::from_vec(guest::text(path)));
    if path == Path::new("/proc/self/exe") {
        path = program();
    }
    let strings = |at: u64| guest::texts(at).into_iter().map(OsString::from_vec);
    let mut arguments: Vec<OsString> = strings(arguments).collect();
    for _ in 0..DEPTH {
        if rustix::fs::access(&path, rustix::fs::Access::EXEC_OK).is_err() {
            return Plan::Native;
        }
        let mut start = [0; 256];
        let read = std::fs::File::open(&path).and_then(|mut f| f.read(&mut start));
        let Ok(read) = read else { return Plan::Native };
        match &start[..read] {
            // ELF of 64 bits (class 2) for x86-64 (machine 62).
            [
                0x7f,
                b'E',
                b'L',
                b'F',
                2,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                62,
                0,
                ..,
            ] => {
                return Plan::Emulated(command(options, &path, &arguments, strings(environment)));
            }
            [0x7f, b'E', b'L', b'F', ..] => {
                return Plan::Impossible(format!("{} is no 64-bit x86 program", path.display()));
            }
            [b'#', b'!', line @ ..] => {
                let line = line.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii();
                let (interpreter, option) = match line.iter().position(|b| matches!(b, b' ' | b'\t')) {
                    Some(at) => (&line[..at], Some(line[at..].trim_ascii())),
                    None => (line, None),
                };
                let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
                let mut new = vec![text(interpreter)];
                new.extend(option.map(text));
                new.push(path.clone().into_os_string());
                new.extend(arguments.into_iter().skip(1));
                (arguments, path) = (new, PathBuf::from(text(interpreter)));
            }
            // The program gets an error, and may run it by a shell.
            _ => return Plan::Native,
        }
    }
    Plan::Native
}
fn command(
    options: &Options,
    path: &Path,
    arguments: &[OsString],
    environment: impl Iterator<Item = OsString>,
) -> Command {
    let mut plugin = options.plugin.clone().into_os_string();
    plugin.push(",recording=");
    plugin.push(&options.folder);
    let mut command = Command::new(&options.emulator);
    command.args(["-cpu", "max"]).arg("-plugin").arg(plugin);
    if let Some(name) = arguments.first() {
        command.arg("-0").arg(name);
    }
    command.arg(path).args(arguments.iter().skip(1)).env_clear();
    for variable in environment {
        let bytes = variable.as_bytes();
        if let Some(at) = bytes.iter().skip(1).position(|b| *b == b'=') {
            let text = |b: &[u8]| OsString::from_vec(b.to_vec());
            command.env(text(&bytes[..=at]), text(&bytes[at + 2..]));
        }
    }
    command
}
/// Becomes the command. It comes back if the system refuses; the emulator then tries the program itself, and says why.
pub(crate) fn start(command: &mut Command) {
    let _ = command.exec();
}
