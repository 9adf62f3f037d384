//! What the recorder is asked to do: the file `options` in the folder of a recording.

use fencepost_record::{MOST_FILES, Schedule};
use std::path::{Path, PathBuf};

/// A recording, as every process of the program reads it.
pub(crate) struct Options {
    /// Folder in which journals and shared state lie.
    pub folder: PathBuf,
    /// The persistent files.
    pub files: Vec<PathBuf>,
    /// Memory callbacks after which another thread may have its turn, at most.
    pub quantum: u64,
    /// Who is next.
    pub schedule: Schedule,
    /// Function with whose first call recording begins.
    pub region: Option<String>,
    /// Instructions without anything done to the files after which recording begins.
    pub region_gap: Option<u64>,
    /// Function whose calls acknowledge what a thread did before.
    pub acknowledge: Option<String>,
    /// Whether accesses to volatile memory are recorded, too.
    pub volatile: bool,
    /// The emulator, for programs that are executed.
    pub emulator: PathBuf,
    /// This plugin, for the same.
    pub plugin: PathBuf,
}

impl Options {
    /// Reads them.
    pub(crate) fn read(folder: &Path) -> Result<Options, String> {
        let path = folder.join("options");
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut options = Options {
            folder: folder.to_owned(),
            files: Vec::new(),
            quantum: 1000,
            schedule: Schedule::Fair,
            region: None,
            region_gap: None,
            acknowledge: None,
            volatile: false,
            emulator: PathBuf::new(),
            plugin: PathBuf::new(),
        };
        for line in text.lines() {
            let (key, value) = line.split_once(' ').ok_or_else(|| format!("`{line}` is no option"))?;
            let number = || value.parse().map_err(|_| format!("{key} {value} is no number"));
            match key {
                "pm" => options.files.push(PathBuf::from(value)),
                "quantum" => options.quantum = number()?,
                "seed" => options.schedule = Schedule::Random(number()?),
                "region" => options.region = Some(value.to_owned()),
                "region-gap" => options.region_gap = Some(number()?),
                "acknowledge" => options.acknowledge = Some(value.to_owned()),
                "memory" => options.volatile = value == "all",
                "emulator" => options.emulator = PathBuf::from(value),
                "plugin" => options.plugin = PathBuf::from(value),
                _ => return Err(format!("`{key}` is no option")),
            }
        }
        match options.files.len() {
            1..=MOST_FILES => Ok(options),
            n => Err(format!("{n} persistent files, and there can be 1 to {MOST_FILES}")),
        }
    }
}
