//! The emulator, and recovery under it: what it reads of an image is observed, whatever it is written in.

use crate::recovery::plugin::plugin;
use crate::recovery::text::{is_plain, read_line};
use fencepost_contract::images::Answer;
use fencepost_run::BadInput;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The emulator with the plugin that observes what a program reads of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Emulator {
    emulator: String,
    plugin: PathBuf,
}

/// Files that each copy of a recovery has.
pub(crate) struct Copies<'p> {
    /// Where it leaves what it read; the image lies beside it.
    pub(crate) reads: &'p Path,
    /// Its standard input.
    pub(crate) input: &'p Path,
    /// Its standard output and error.
    pub(crate) output: &'p Path,
}

impl Emulator {
    /// The emulator, for this recovery command.
    ///
    /// # Errors
    /// An emulator or plugin that is not there, or not one that can observe; a command that is not a single x86-64 program.
    pub fn new(emulator: &str, asked: Option<&Path>, command: &str) -> Result<Emulator, BadInput> {
        check_emulator(emulator)?;
        let plugin = plugin(asked)?;
        plain(&plugin)?;
        let name = command.split_whitespace().next().unwrap_or_default();
        if !is_plain(&command.replace("{}", "")) {
            let found = format!("`{command}` is for a shell, and the emulator runs one program");
            return Err(
                BadInput::new(found).hint("give a program and its arguments, without quotes, pipes or variables")
            );
        }
        let program = find(name)?;
        let mut start = [0; 20];
        let read = std::fs::File::open(&program).and_then(|mut f| std::io::Read::read_exact(&mut f, &mut start));
        // An ELF file for x86-64 (machine 62).
        match (read, start) {
            (Ok(()), [0x7f, b'E', b'L', b'F', _, _, _, _, _, _, _, _, _, _, _, _, _, _, 62, 0]) => {}
            _ => {
                let found = format!(
                    "`{}` is no x86-64 program, and the emulator runs nothing else",
                    program.display()
                );
                return Err(BadInput::new(found).hint("name a script's interpreter: `python3 audit.py`"));
            }
        }
        Ok(Emulator {
            emulator: emulator.to_owned(),
            plugin,
        })
    }
    /// One that was used before.
    pub(crate) fn known(emulator: String, plugin: PathBuf) -> Emulator {
        Emulator { emulator, plugin }
    }
    /// The emulator itself.
    pub(crate) fn name(&self) -> &str {
        &self.emulator
    }
    pub(crate) fn plugin(&self) -> &Path {
        &self.plugin
    }
    /// A process of which a copy runs the command (split at blanks) for each image, and leaves in `reads` what it read of it: of
    /// these files, whose content begins at these offsets. See [`Served`](crate::recovery::served::Served).
    pub(crate) fn start(&self, text: &str, image: &[(PathBuf, usize)], to: &Copies<'_>) -> Result<Command, BadInput> {
        let mut parts = text.split_whitespace();
        let program = find(parts.next().unwrap_or_default())?;
        let mut options = self.plugin.display().to_string();
        for (file, offset) in image {
            options += &format!(",offset={offset},image={}", file.display());
        }
        let Copies { reads, input, output } = to;
        options += &format!(
            ",reads={},input={},output={}",
            reads.display(),
            input.display(),
            output.display()
        );
        let folder = reads.parent().unwrap_or(reads);
        options += &format!(",folder={}", folder.display());
        let mut command = Command::new(&self.emulator);
        // The seed is for what a process gets of chance when it starts.
        command.args(["-cpu", "max", "-seed", "1", "-plugin", &options]);
        command.arg(program).args(parts);
        Ok(command)
    }
}

/// What the plugin left, as a part of an answer. `None` if it is not whole.
pub(crate) fn observed(text: &str) -> Option<Answer> {
    let mut answer = Answer::default();
    let mut pieces = Vec::new();
    for line in text.strip_suffix("end\n")?.lines() {
        match line.strip_prefix("everything: ") {
            Some(why) => {
                pieces.push((0, u64::MAX));
                answer.unknown = Some(why.to_owned());
            }
            None => pieces.push(read_line(line)?),
        }
    }
    answer.reads = Some(pieces);
    Some(answer)
}

/// Paths are arguments of the plugin, which commas separate.
pub(crate) fn plain(path: &Path) -> Result<(), BadInput> {
    match path.to_string_lossy().contains(',') {
        true => Err(BadInput::new(format!(
            "{}: the emulator takes no path with a comma",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// Whether the emulator is there and takes plugins.
///
/// # Errors
/// It is not, or does not; with what to install.
pub fn check_emulator(emulator: &str) -> Result<(), BadInput> {
    let hint = "Debian 12's package qemu-user 1:7.2 has it; statically linked builds take no plugins";
    let help = Command::new(emulator).arg("--help").stderr(Stdio::null()).output();
    let help = help.map_err(|e| BadInput::new(format!("the emulator `{emulator}` is not there: {e}")).hint(hint))?;
    let takes = String::from_utf8_lossy(&help.stdout).contains("-plugin");
    let version = Command::new(emulator).arg("--version").output();
    let version = version
        .map(|v| String::from_utf8_lossy(&v.stdout).into_owned())
        .unwrap_or_default();
    match (takes, version.contains("version 7.2")) {
        (true, true) => Ok(()),
        (false, _) => Err(BadInput::new(format!("the emulator `{emulator}` takes no plugins")).hint(hint)),
        (true, false) => {
            let first = version.lines().next().unwrap_or("an unknown version");
            Err(BadInput::new(format!(
                "`{emulator}` is {first}: only 7.2 is known to record and observe rightly"
            ))
            .hint(hint))
        }
    }
}
/// A program as the emulator needs it: by its path.
pub(crate) fn find(program: &str) -> Result<PathBuf, BadInput> {
    if program.contains('/') {
        return Ok(PathBuf::from(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|d| d.join(program))
        .find(|p| p.is_file());
    found.ok_or_else(|| BadInput::new(format!("no program `{program}` on the path")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_emulator_takes_plugins_and_is_of_the_version_that_is_known() {
        let why = |emulator: &str| check_emulator(emulator).err().map(|e| e.message);
        assert!(why("/no/such/emulator").is_some_and(|w| w.contains("is not there")));
        assert!(why("true").is_some_and(|w| w.contains("takes no plugins")));
        let scratch = crate::recovery::scratch::Scratch::new().unwrap();
        for (version, right) in [("7.2.11", true), ("8.0", false)] {
            let path = scratch.path().join(version);
            let says = format!("#!/bin/sh\necho -- -plugin; echo qemu-x86_64 version {version}\n");
            std::fs::write(&path, says).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            let why = why(path.to_str().unwrap());
            assert!(right == why.is_none(), "{why:?}");
            assert!(why.is_none_or(|w| w.contains("only 7.2 is known")));
        }
    }
    #[test]
    fn what_was_observed_is_whole_or_nothing() {
        let text = "read 8 4\nread 0 8\neverything: fork\nend\n";
        let answer = observed(text).unwrap();
        assert_eq!(answer.reads, Some(vec![(8, 4), (0, 8), (0, u64::MAX)]));
        assert_eq!(answer.unknown.as_deref(), Some("fork"));
        assert_eq!(observed("end\n").unwrap().reads, Some(vec![]));
        for cut in 0..text.len() {
            assert_eq!(observed(&text[..cut]), None, "{cut}");
        }
        assert_eq!(observed("read 8\nend\n"), None);
    }
    #[test]
    fn the_plugin_is_told_of_each_file_and_of_where_answers_go() {
        let emulator = Emulator::known("/opt/qemu".into(), "/lib/plugin.so".into());
        let copies = Copies {
            reads: Path::new("/scratch/image-0.reads"),
            input: Path::new("/dev/null"),
            output: Path::new("/scratch/image-0.out"),
        };
        let files = [("/scratch/image-0/a".into(), 0), ("/scratch/image-0/b".into(), 4096)];
        let command = emulator.start("/bin/audit -v  x", &files, &copies).expect("a program");
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
        let plugin = "/lib/plugin.so,offset=0,image=/scratch/image-0/a,offset=4096,image=/scratch/image-0/b,\
                      reads=/scratch/image-0.reads,input=/dev/null,output=/scratch/image-0.out,folder=/scratch";
        assert_eq!(command.get_program(), "/opt/qemu");
        assert_eq!(
            arguments,
            ["-cpu", "max", "-seed", "1", "-plugin", plugin, "/bin/audit", "-v", "x"]
        );
        assert_eq!(
            (emulator.name(), emulator.plugin()),
            ("/opt/qemu", Path::new("/lib/plugin.so"))
        );
    }
    #[test]
    fn an_emulator_is_for_one_program_of_x86_64() {
        let scratch = crate::recovery::scratch::Scratch::new().unwrap();
        let path = |name: &str| scratch.path().join(name).display().to_string();
        let says = "#!/bin/sh\necho -- -plugin; echo qemu-x86_64 version 7.2.11\n";
        for (name, text) in [("qemu", says), ("plugin.so", ""), ("a,b.so", "")] {
            std::fs::write(path(name), text).unwrap();
        }
        std::fs::set_permissions(path("qemu"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let new = |plugin: &str, command: &str| {
            let found = Emulator::new(&path("qemu"), Some(Path::new(&path(plugin))), command);
            found.map(|e| e.plugin().display().to_string()).map_err(|e| e.message)
        };
        // A shell is a program, and the image may stand anywhere.
        assert_eq!(new("plugin.so", "sh {} -v"), Ok(path("plugin.so")));
        for (plugin, command, why) in [
            ("plugin.so", "sh | cat", "is for a shell"),
            ("plugin.so", &path("qemu")[..], "is no x86-64 program"),
            ("plugin.so", "/no/such/program", "is no x86-64 program"),
            (
                "plugin.so",
                "no-such-program-1",
                "no program `no-such-program-1` on the path",
            ),
            ("a,b.so", "sh", "no path with a comma"),
            ("gone.so", "sh", "is not there"),
        ] {
            assert!(new(plugin, command).is_err_and(|e| e.contains(why)), "{why}");
        }
        assert_eq!(find("a/b").ok(), Some(PathBuf::from("a/b")));
        assert!(find("sh").is_ok_and(|p| p.is_absolute() && p.ends_with("sh")));
    }
}
