//! Names of places: lines of the user's program, and what they called.

use crate::recording::Process;
use addr2line::Loader;
use object::{Object, ObjectSegment};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Names places of a recording.
#[derive(Default)]
pub(crate) struct Places {
    modules: HashMap<PathBuf, Option<Module>>,
    known: HashMap<(usize, String), (String, bool)>,
}
struct Module {
    loader: Loader,
    /// Segments in the file: offset, length, address.
    segments: Vec<(u64, u64, u64)>,
}
/// A place in a program.
struct Frame {
    /// `append.c:9`, where that is known.
    line: Option<String>,
    function: Option<String>,
    /// `libc.so.6+0x1234`.
    raw: String,
    /// Of the user's own program.
    own: bool,
    /// Of a header of the system, within the user's own program.
    header: bool,
}

impl Places {
    /// The name of a place, given by its frames; and whether a line is known.
    pub(crate) fn name(&mut self, number: usize, process: &Process, place: &str) -> (String, bool) {
        let key = (number, place.to_owned());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let name = self.find(process, place);
        self.known.insert(key, name.clone());
        name
    }
    /// The first frame of the user's own code tells; what it called comes second.
    fn find(&mut self, process: &Process, place: &str) -> (String, bool) {
        let mut frames = Vec::new();
        for part in place.split('<') {
            frames.extend(self.frames(process, part));
        }
        let Some(first) = frames.first() else {
            return (place.to_owned(), false);
        };
        let shown = |f: &Frame| f.line.clone().unwrap_or_else(|| f.raw.clone());
        let at = frames.iter().position(|f| f.own);
        let (mut name, known) = match at {
            None | Some(0) => (shown(first), first.line.is_some()),
            Some(at) if frames[..at].iter().all(|f| f.header) => (shown(&frames[at]), frames[at].line.is_some()),
            Some(at) => {
                let called = &frames[at - 1];
                let through = called.function.clone().unwrap_or_else(|| shown(called));
                (
                    format!("{} through {through}", shown(&frames[at])),
                    frames[at].line.is_some(),
                )
            }
        };
        // Who called it, of the user's own code.
        let callers = frames
            .iter()
            .skip(at.unwrap_or(frames.len()) + 1)
            .filter(|f| f.own && f.line.is_some());
        for caller in callers {
            let function = caller.function.as_ref().map(|f| format!("{f} ")).unwrap_or_default();
            name += &format!(" < {function}{}", shown(caller));
        }
        (name.replace(['@', '#'], "?"), known)
    }
    /// The frames at one address, those of inlined functions first.
    fn frames(&mut self, process: &Process, part: &str) -> Vec<Frame> {
        let found = part.split_once('+').and_then(|(module, offset)| {
            let path = process.modules.get(module)?;
            Some((path, crate::recording::hexadecimal(offset)?))
        });
        let Some((path, offset)) = found else {
            return vec![Frame {
                line: None,
                function: None,
                raw: part.to_owned(),
                own: false,
                header: false,
            }];
        };
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let raw = format!("{file}+{offset:#x}");
        let own = is_own(path, &process.program);
        let module = self.modules.entry(path.clone()).or_insert_with(|| Module::load(path));
        let Some((module, at)) = module.as_ref().and_then(|m| Some((m, m.address(offset)?))) else {
            return vec![Frame {
                line: None,
                function: None,
                raw,
                own,
                header: false,
            }];
        };
        let mut frames = Vec::new();
        if let Ok(mut inlined) = module.loader.find_frames(at) {
            while let Ok(Some(frame)) = inlined.next() {
                let function = frame.function.and_then(|f| f.demangle().map(|n| n.into_owned()).ok());
                let location = frame
                    .location
                    .and_then(|l| Some((l.file?.to_owned(), l.line.filter(|n| *n > 0)?)));
                let system = location.as_ref().is_some_and(|(file, _)| is_system(Path::new(file)));
                let runtime = function.as_deref().is_some_and(is_runtime);
                frames.push(Frame {
                    line: location.map(|(file, line)| format!("{}:{line}", file.rsplit('/').next().unwrap_or(&file))),
                    function,
                    raw: raw.clone(),
                    own: own && !system && !runtime,
                    header: own && system,
                });
            }
        }
        if frames.is_empty() {
            let function = module.loader.find_symbol(at).map(str::to_owned);
            frames.push(Frame {
                line: None,
                function,
                raw,
                own,
                header: false,
            });
        }
        frames
    }
}

impl Module {
    fn load(path: &Path) -> Option<Module> {
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let segments = file
            .segments()
            .map(|s| (s.file_range().0, s.file_range().1, s.address()));
        let segments = segments.collect();
        let loader = Loader::new(path).ok()?;
        Some(Module { loader, segments })
    }
    /// The address for which the file was linked.
    fn address(&self, offset: u64) -> Option<u64> {
        let holds = |s: &&(u64, u64, u64)| offset.wrapping_sub(s.0) < s.1;
        self.segments.iter().find(holds).map(|s| s.2 + (offset - s.0))
    }
}

/// Whether a file with code is the user's: the program, unless it is one of the system that runs another's text, or a library
/// that does not belong to the system.
fn is_own(path: &Path, program: &Path) -> bool {
    path == program || program.canonicalize().is_ok_and(|p| p == path) || !is_system(path)
}
fn is_system(path: &Path) -> bool {
    let folders = [
        "/usr/include",
        "/usr/lib",
        "/usr/lib64",
        "/lib",
        "/lib64",
        "/usr/local/lib",
        "/usr/local/go/src",
    ];
    folders.iter().any(|f| path.starts_with(f))
}
/// Functions of Go's run-time system and of its packages for system calls.
fn is_runtime(function: &str) -> bool {
    let packages = [
        "runtime.",
        "runtime/",
        "syscall.",
        "internal/",
        "golang.org/x/sys/",
        "sync.",
        "sync/",
    ];
    packages.iter().any(|p| function.starts_with(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of this program, the line on which it begins, and its place in the program's file.
    #[inline(never)]
    fn here() -> u32 {
        line!()
    }
    fn place() -> (PathBuf, u64) {
        let address = here as fn() -> u32 as usize as u64;
        let program = std::env::current_exe().expect("a program");
        let maps = std::fs::read_to_string("/proc/self/maps").expect("what is mapped");
        let offset = maps.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (first, end) = words[0].split_once('-')?;
            let number = |n: &str| u64::from_str_radix(n, 16).ok();
            let range = number(first)?..number(end)?;
            range
                .contains(&address)
                .then(|| Some(address - range.start + number(words[2])?))?
        });
        (program, offset.expect("this program is mapped"))
    }

    #[test]
    fn a_place_is_named_by_the_first_frame_of_the_users_own_code() {
        let (program, offset) = place();
        let library = PathBuf::from("/usr/lib/nothing.so.6");
        let process = Process {
            program: program.clone(),
            modules: [("1".to_owned(), library), ("2".to_owned(), program.clone())].into(),
            events: 0,
        };
        let mut places = Places::default();
        let mut name = |place: &str| places.name(0, &process, place);
        let own = format!("2+{offset:#x}");
        let line = here();
        let (found, known) = name(&own);
        if !known {
            // Built without tables of lines.
            let file = program.file_name().unwrap_or_default().to_string_lossy();
            assert_eq!(found, format!("{file}+{offset:#x}"));
            return;
        }
        // Its first instruction is of its head, its body or its end.
        let lines = (line - 1..=line + 1).map(|l| format!("places.rs:{l}"));
        assert!(lines.into_iter().any(|l| l == found), "{found}");
        let file = program.file_name().and_then(|n| n.to_str()).expect("a name").to_owned();
        // What it called comes second, who called it last.
        assert_eq!(
            name(&format!("1+0x12<{own}")),
            (format!("{found} through nothing.so.6+0x12"), true)
        );
        let (called, known) = name(&format!("{own}<1+0x12<{own}"));
        assert!(known && called.starts_with(&format!("{found} < ")), "{called}");
        assert!(called.ends_with(&format!(" {found}")), "{called}");
        // Nothing of a library has a line, nor has what lies in no segment.
        assert_eq!(name("1+0x12<1+0x13"), ("nothing.so.6+0x12".to_owned(), false));
        let outside = u64::MAX;
        assert_eq!(
            name(&format!("{own}<2+{outside:#x}")).0,
            found,
            "a caller is told by its line"
        );
        assert_eq!(
            name(&format!("2+{outside:#x}")),
            (format!("{file}+{outside:#x}"), false)
        );
        for unknown in ["?", "7+0x1", "2+12"] {
            assert_eq!(name(unknown), (unknown.to_owned(), false));
        }
        assert_eq!(name("@a#b"), ("?a?b".to_owned(), false), "a log has no place for these");
        assert_eq!(name(&own), (found, true), "as before");
    }
    #[test]
    fn the_users_own_is_the_program_and_what_is_none_of_the_systems() {
        let program = Path::new("/usr/lib/jvm/java");
        assert!(is_own(program, program));
        assert!(is_own(Path::new("/home/a/lib.so"), program));
        assert!(!is_own(Path::new("/usr/lib/libc.so.6"), program));
        assert!(is_own(Path::new("/usr/library/a.so"), program));
        // By another name it is the same program.
        let shell = Path::new("/bin/sh").canonicalize().expect("a shell");
        assert!(is_own(&shell, Path::new("/bin/sh")));
        for (function, runtime) in [
            ("runtime.mmap", true),
            ("sync.(*Mutex).Lock", true),
            ("main.runtime.x", false),
        ] {
            assert_eq!(is_runtime(function), runtime, "{function}");
        }
    }

    /// A program's code is not where it was linked for by its place in the file: its segments begin on pages of their own.
    #[test]
    fn an_offset_into_a_file_is_an_address_of_its_segment() {
        let module = Module::load(&std::env::current_exe().unwrap()).expect("a program");
        assert!(module.segments.iter().any(|s| s.0 != s.2), "{:x?}", module.segments);
        for (offset, length, address) in module.segments.iter().filter(|s| s.1 > 8) {
            for at in [0, 7, length - 1] {
                assert_eq!(module.address(offset + at), Some(address + at));
            }
        }
        assert_eq!(module.address(u64::MAX), None);
    }
}
