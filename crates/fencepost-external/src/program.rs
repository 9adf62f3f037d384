//! What the emulator can run: one x86-64 program, or a script by its interpreter.

use crate::recovery::emulator::find;
use fencepost_run::BadInput;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Scripts that name scripts as their interpreters, at most.
const DEPTH: usize = 4;

/// What a file is to the emulator.
enum Kind {
    Program,
    Script(Vec<String>),
}

/// The command with a program that the emulator runs first: for a script, its interpreter.
///
/// # Errors
/// There is no such program, or none for x86-64.
pub(crate) fn emulated(command: &[String]) -> Result<Vec<String>, BadInput> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(BadInput::new("give the program to run after `--`"));
    };
    let mut whole = vec![find(program)?.display().to_string()];
    whole.extend(arguments.iter().cloned());
    for _ in 0..DEPTH {
        match kind(Path::new(&whole[0]))? {
            Kind::Program => return Ok(whole),
            Kind::Script(mut interpreter) => {
                interpreter.append(&mut whole);
                whole = interpreter;
            }
        }
    }
    Err(BadInput::new(format!(
        "{program}: a script's interpreter is a script, and so on"
    )))
}

fn kind(path: &Path) -> Result<Kind, BadInput> {
    let shown = path.display();
    let mut start = [0; 256];
    let read = File::open(path).and_then(|mut f| f.read(&mut start));
    let read = read.map_err(|e| BadInput::new(format!("{shown}: {e}")))?;
    match &start[..read] {
        // Class 2 is 64 bits, machine 62 x86-64.
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
        ] => Ok(Kind::Program),
        [0x7f, b'E', b'L', b'F', 1, ..] => {
            let found = format!("{shown} is a 32-bit program, and only 64-bit x86 programs are followed");
            Err(BadInput::new(found).hint("build it with -m64"))
        }
        [0x7f, b'E', b'L', b'F', ..] => Err(BadInput::new(format!("{shown} is no x86-64 program"))),
        [b'#', b'!', line @ ..] => {
            let line = String::from_utf8_lossy(line.split(|b| *b == b'\n').next().unwrap_or_default()).into_owned();
            let mut words = line.trim().splitn(2, [' ', '\t']).map(|w| w.trim().to_owned());
            let interpreter = words.next().filter(|w| !w.is_empty());
            let interpreter = interpreter.ok_or_else(|| BadInput::new(format!("{shown} names no interpreter")))?;
            Ok(Kind::Script([interpreter].into_iter().chain(words).collect()))
        }
        _ => {
            Err(BadInput::new(format!("{shown} is no program")).hint("name a script's interpreter: `python3 prog.py`"))
        }
    }
}
