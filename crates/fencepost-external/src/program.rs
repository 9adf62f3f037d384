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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::scratch::Scratch;

    /// The first bytes of a program for this class and machine.
    fn elf(class: u8, machine: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..5].copy_from_slice(&[0x7f, b'E', b'L', b'F', class]);
        bytes[18] = machine;
        bytes
    }

    #[test]
    fn a_script_is_run_by_its_interpreter_and_only_x86_64_runs() {
        let folder = Scratch::new().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let put = |name: &str, bytes: &[u8]| std::fs::write(path(name), bytes).expect("a folder to write to");
        put("program", &elf(2, 62));
        // Each is interpreted by the one before it.
        let mut interpreter = path("program");
        for i in 1..=4 {
            put(
                &format!("script{i}"),
                format!("#! {interpreter}\t -v {i} \nrest\n").as_bytes(),
            );
            interpreter = path(&format!("script{i}"));
        }
        let found = |name: &str| emulated(&[path(name), "a b".to_owned()]).map_err(|e| e.message);
        let (program, first, second) = (path("program"), path("script1"), path("script2"));
        assert_eq!(found("program"), Ok(vec![program.clone(), "a b".into()]));
        assert_eq!(
            found("script1"),
            Ok(vec![program.clone(), "-v 1".into(), first.clone(), "a b".into()])
        );
        let twice = [&program, "-v 1", &first, "-v 2", &second, "a b"].map(str::to_owned);
        assert_eq!(found("script2"), Ok(twice.to_vec()));
        assert!(found("script3").is_ok(), "as deep as the system goes");
        assert!(found("script4").is_err_and(|e| e.contains("and so on")));
        for (name, bytes, why) in [
            ("narrow", elf(1, 3), "32-bit"),
            ("arm", elf(2, 183), "no x86-64 program"),
            ("empty", Vec::new(), "is no program"),
            ("text", b"echo hello\n".to_vec(), "is no program"),
            ("nobody", b"#! \necho\n".to_vec(), "names no interpreter"),
        ] {
            put(name, &bytes);
            assert!(found(name).is_err_and(|e| e.contains(why)), "{name}");
        }
        assert!(found("gone").is_err());
        assert!(emulated(&[]).is_err_and(|e| e.message.contains("after `--`")));
    }
}
