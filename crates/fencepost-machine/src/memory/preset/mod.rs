//! The media that have a name, and where each of their values comes from.
//!
//! Every value that differs from [`MediaSpec::default`] (which is DDR3-1600) carries a mark: stated by the paper that
//! uses the medium, taken from a published device or standard, or ours, with the reason.

mod ddr4;
mod mark;
mod nvm;
mod papers;
mod pcm;

pub use mark::{Mark, Origin};

use super::spec::MediaSpec;
use ddr4::*;
use nvm::*;
use papers::*;
use pcm::*;

/// A medium with a name.
#[derive(Copy, Clone)]
pub struct MediaPreset {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Its parameters.
    pub spec: fn() -> MediaSpec,
    /// Origin of every value that differs from the default.
    pub marks: &'static [Mark],
}

impl MediaSpec {
    /// Every named medium, in the order in which they are listed to users.
    pub const PRESETS: &'static [MediaPreset] = &[
        MediaPreset {
            name: "ddr3-1600",
            doc: "DDR3-1600 11-11-11, one rank of eight 4 Gb x8 devices; as persistent memory: kept by stored energy.",
            spec: MediaSpec::default,
            marks: &[],
        },
        MediaPreset {
            name: "ddr4-2400",
            doc: "DDR4-2400 17-17-17, one rank of eight 8 Gb x8 devices.",
            spec: ddr4_2400,
            marks: DDR4_2400,
        },
        MediaPreset {
            name: "pcm",
            doc: "Phase-change memory of the delegated-ordering paper: 533 MHz, 120 ns array read, 150 ns write pulse.",
            spec: pcm,
            marks: PCM,
        },
        MediaPreset {
            name: "pwq",
            doc: "The same phase-change memory behind a durable write queue.",
            spec: pwq,
            marks: PWQ,
        },
        MediaPreset {
            name: "nvm-2400",
            doc: "Non-volatile memory as gem5 models it: 150 ns read, 500 ns write, 128 writes buffered in the module.",
            spec: nvm_2400,
            marks: NVM_2400,
        },
        MediaPreset {
            name: "themis-pcm",
            doc: "Phase-change memory of the Themis paper: nvm-2400 with a 346 ns read.",
            spec: themis_pcm,
            marks: THEMIS_PCM,
        },
        MediaPreset {
            name: "broi-nvm",
            doc: "NVRAM DIMM of the BROI paper: 36 ns row hit, 100/300 ns read/write row conflict, 8 banks of 2 KB rows.",
            spec: broi_nvm,
            marks: BROI_NVM,
        },
        MediaPreset {
            name: "loc-nvm",
            doc: "Memory of the loose-ordering paper: 8 banks, every access 168 cycles of 1 GHz.",
            spec: loc_nvm,
            marks: LOC_NVM,
        },
        MediaPreset {
            name: "fgc-pcm",
            doc: "Phase-change memory of the per-task-committing paper: 55/150 ns, 2 channels x 2 ranks x 8 sub-ranks.",
            spec: fgc_pcm,
            marks: FGC_PCM,
        },
    ];
    /// The parameters of a named medium.
    pub fn preset(name: &str) -> Option<MediaSpec> {
        let preset = Self::PRESETS.iter().find(|p| p.name == name)?;
        Some((preset.spec)())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::params::Params;

    #[test]
    fn every_preset_is_valid_and_every_deviation_from_the_default_is_marked_once() {
        let default = MediaSpec::default();
        for p in MediaSpec::PRESETS {
            let spec = (p.spec)();
            assert_eq!(spec.validate(), Ok(()), "{}", p.name);
            for f in MediaSpec::fields() {
                let differs = spec.get(f.name) != default.get(f.name);
                let marks = p.marks.iter().filter(|m| m.field == f.name).count();
                assert_eq!(marks, usize::from(differs), "{}: {}", p.name, f.name);
            }
            let known: Vec<_> = MediaSpec::fields().iter().map(|f| f.name).collect();
            assert!(p.marks.iter().all(|m| known.contains(&m.field)), "{}", p.name);
        }
        assert_eq!(MediaSpec::preset("ddr5"), None);
    }
}
