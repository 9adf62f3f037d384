//! Compute sites: the stretches of instructions between memory operations, and what each costs.
//!
//! `compute(site)` stands for the instructions that a thread executed since its previous `compute`, other than its memory
//! operations. How many those are is measured on the native build of this very source (`benches/instructions`: the
//! programs run on plain memory under an instruction tracer, which attributes every instruction to the marker that ends its
//! stretch; a memory operation is one instruction there, which is not counted). The costs are in a generated file.
//!
//! **Which number a run is given.** The mean over the occurrences of the site in the measured run of the same program, scheme
//! and [`Mode`]. The mean is the one statistic that keeps totals: a simulated run of that configuration executes as many
//! instructions as the native one did, however skewed a site's costs are. Nothing is shared between configurations, because
//! they differ for reasons that are theirs (what a compiler made of a loop, how many inputs a region has). A site that a
//! measured run happened not to meet takes the mean over all occurrences in the program's other runs, then in those of
//! all programs, then a stated estimate. A configuration that was never measured says so: what the transaction runtime does
//! differs from scheme to scheme, so its sites take their estimates there, and no other scheme's costs.

use crate::choices::{Coupling, Scheme};
use crate::settings::Settings;
use fencepost_kernel::params::ParamValue as _;
use fencepost_kernel::{Dialect, LogPath, Logging, Site};
use std::sync::LazyLock;

macro_rules! sites {
    ($($(#[doc = $doc:literal])* $name:ident = $id:literal, $estimate:literal);* $(;)?) => {
        $($(#[doc = $doc])* pub const $name: Site = Site($id);)*
        /// Every site with its name, in id order.
        pub const NAMES: &[(Site, &str)] = &[$(($name, stringify!($name))),*];
        /// Instructions assumed of each site where nothing was measured, in id order.
        const ESTIMATES: &[u32] = &[$($estimate),*];
    };
}

// Name, id, and the estimate that stands in until the site has been measured.
sites! {
    /// Start of a transaction, with the locks before it.
    TX_BEGIN = 0, 10;
    /// One undo or redo record, from the program's store or announcement to the record's last word.
    LOG_RECORD = 1, 14;
    /// From the last record or step to the start of commit.
    TX_COMMIT = 2, 10;
    /// iDO: one region's record, the reads and choices of inputs before it included.
    REGION_RECORD = 3, 40;
    /// Taking a block from an allocation pool.
    ALLOC = 4, 15;
    /// Returning a block, after the commit that unlinked it.
    FREE = 5, 15;
    /// Start of an operation, up to its first lock.
    PROLOGUE = 6, 10;
    /// End of an operation, from its commit on.
    EPILOGUE = 7, 15;
    /// Hashing a key to its bucket.
    HASH_KEY = 8, 10;
    /// One step of a search along a chain.
    CHAIN_STEP = 9, 5;
    /// One step of a search down a binary tree.
    TREE_STEP = 10, 6;
    /// One turn of a tree's rebalancing loop, or one rotation.
    REBALANCE = 11, 10;
    /// One probe of a binary search inside a wide node.
    NODE_PROBE = 12, 7;
    /// Moving one pair inside a wide node.
    PAIR_MOVE = 13, 8;
    /// Reading both entries of a swap.
    SPS_SWAP = 14, 10;
    /// One probe of a hash index.
    INDEX_PROBE = 15, 6;
    /// Handling one row of a table.
    ROW = 16, 20;
    /// A pause of a declared length: of programs that draw what they do, whose code is not what is simulated.
    PAUSE = 17, 15;
    /// What a library does between two accesses to its file, up to one that reads.
    PAGE_READ = 18, 2000;
    /// The same, up to one that writes.
    PAGE_WRITE = 19, 2000;
    /// Parsing one byte of a request.
    PARSE_BYTE = 20, 4;
    /// Copying one word between buffers.
    COPY_WORD = 21, 3;
    /// Drawing a number from a generator.
    DRAW = 22, 15;
    /// Making one word of a generator anew.
    TWIST = 23, 12;
}

/// Sites of the transaction runtime: the others are the programs', whatever logs.
const RUNTIME: &[Site] = &[TX_BEGIN, LOG_RECORD, TX_COMMIT, REGION_RECORD, ALLOC, FREE];

/// Programs that are no model of an application: they draw what they do, and compute nothing but [`PAUSE`].
pub const DRAWN: &[&str] = &["random"];

fencepost_kernel::param_enum! {
    /// What the transaction runtime does, besides its scheme: what tells measured runs of one program and scheme apart.
    pub enum Mode {
        /// No log.
        None = "none",
        /// The hardware logs.
        Hardware = "hardware",
        /// Software logs whole objects ahead.
        Grouped = "grouped",
        /// The same where nothing needs a flush.
        Ordered = "ordered",
        /// Software logs each store.
        PerStore = "per-store",
    }
}
impl Mode {
    /// The mode of a program under a dialect.
    pub fn of(dialect: &Dialect, coupling: Coupling) -> Mode {
        match (dialect.logging, coupling, dialect.log_path) {
            (Logging::None, ..) => Mode::None,
            (Logging::Hardware, ..) => Mode::Hardware,
            (_, Coupling::PerStore, _) | (_, Coupling::Auto, LogPath::NonTemporal) => Mode::PerStore,
            _ if dialect.flush.is_none() => Mode::Ordered,
            _ => Mode::Grouped,
        }
    }
}

/// Instructions of every site in a run of this program as built from `settings`, under this dialect; see [`costs`].
pub fn costs_of(program: &str, settings: &Settings, dialect: &Dialect) -> Vec<u32> {
    costs(program, settings.scheme, mode_of(settings, dialect))
}
/// Whether those were measured; see [`is_measured`].
pub fn measured_for(program: &str, settings: &Settings, dialect: &Dialect) -> bool {
    is_measured(program, settings.scheme, mode_of(settings, dialect))
}
fn mode_of(settings: &Settings, dialect: &Dialect) -> Mode {
    let set = settings.params.iter().rev().find(|p| p.0 == "coupling");
    let coupling = set.and_then(|p| Coupling::from_raw(&p.1).ok());
    Mode::of(dialect, coupling.unwrap_or(Coupling::Auto))
}

/// One line of the table: a site in one measured run.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Measured {
    /// Program word.
    pub program: &'static str,
    /// Scheme word.
    pub scheme: &'static str,
    /// Mode word.
    pub mode: &'static str,
    /// Site name.
    pub site: &'static str,
    /// How often the run met it.
    pub times: u64,
    /// Mean of the instructions it stood for.
    pub instructions: f64,
}

/// The table of measured costs, line by line; lines that are none are left out (a test counts them).
pub fn measured() -> impl Iterator<Item = Measured> {
    static TABLE: LazyLock<Vec<Measured>> = LazyLock::new(|| lines().filter_map(read).collect());
    TABLE.iter().copied()
}
fn read(line: &'static str) -> Option<Measured> {
    let mut cells = line.split(',');
    let mut cell = || cells.next();
    Some(Measured {
        program: cell()?,
        scheme: cell()?,
        mode: cell()?,
        site: cell()?,
        times: cell()?.parse().ok()?,
        instructions: cell()?.parse().ok()?,
    })
}
fn lines() -> impl Iterator<Item = &'static str> {
    let text = include_str!("sites/measured.csv").lines();
    text.filter(|l| !l.starts_with('#')).skip(1)
}

/// Measured in a run of this program, scheme and mode.
fn is_of(m: &Measured, program: &str, scheme: Scheme, mode: Mode) -> bool {
    // Where software does not log, the scheme plays no part.
    let logs = matches!(mode, Mode::Grouped | Mode::Ordered | Mode::PerStore);
    m.program == program && m.mode == mode.name() && (!logs || m.scheme == scheme.name())
}
/// Instructions of every site in a run of this program, in id order, memory operations not counted.
pub fn costs(program: &str, scheme: Scheme, mode: Mode) -> Vec<u32> {
    let all: Vec<Measured> = measured().collect();
    let unknown = !all.iter().any(|m| is_of(m, program, scheme, mode));
    let cost = |((site, name), estimate): (&(Site, &str), &u32)| {
        if unknown && RUNTIME.contains(site) {
            return *estimate;
        }
        let met: Vec<&Measured> = all.iter().filter(|m| m.site == *name).collect();
        let exact = met
            .iter()
            .copied()
            .filter(|m| is_of(m, program, scheme, mode))
            .collect();
        let here: Vec<&Measured> = met.iter().copied().filter(|m| m.program == program).collect();
        let from = [exact, here, met].into_iter().find(|some| !some.is_empty());
        from.map_or(*estimate, |some| mean(&some))
    };
    NAMES.iter().zip(ESTIMATES).map(cost).collect()
}

/// Whether the costs of the program's sites are known under this scheme and mode: measured, or declared where it is
/// [drawn](DRAWN). Others are estimates, which a run says.
pub fn is_measured(program: &str, scheme: Scheme, mode: Mode) -> bool {
    DRAWN.contains(&program) || measured().any(|m| is_of(&m, program, scheme, mode))
}

/// Mean over all occurrences.
fn mean(of: &[&Measured]) -> u32 {
    let times: u64 = of.iter().map(|m| m.times).sum();
    let sum: f64 = of.iter().map(|m| m.instructions * m.times as f64).sum();
    (sum / times.max(1) as f64).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs;

    #[test]
    fn every_line_of_the_table_is_read_and_names_what_exists() {
        assert_eq!(lines().count(), measured().count(), "a line is malformed");
        for m in measured() {
            assert!(m.times > 0 && m.instructions >= 0.0, "{m:?}");
            assert!(NAMES.iter().any(|n| n.1 == m.site), "{m:?}: the site is gone");
            assert!(Mode::NAMES.contains(&m.mode), "{m:?}");
            let program = programs().into_iter().find(|p| p.name == m.program);
            let schemes = program.unwrap_or_else(|| panic!("{m:?}: the program is gone")).schemes;
            assert!(
                schemes.iter().any(|s| s.name() == m.scheme),
                "{m:?}: the scheme is gone"
            );
        }
    }
    #[test]
    fn every_program_is_measured_in_all_its_configurations() {
        for (i, (site, _)) in NAMES.iter().enumerate() {
            assert_eq!(usize::from(site.0), i);
        }
        let has =
            |p: &str, s: &str, mode: Mode| measured().any(|m| (m.program, m.scheme, m.mode) == (p, s, mode.name()));
        for p in programs() {
            if DRAWN.contains(&p.name) {
                continue;
            }
            assert!(
                is_measured(p.name, p.schemes[0], Mode::None),
                "{} runs with estimates",
                p.name
            );
            let first = p.schemes[0].name();
            for mode in [Mode::None, Mode::Hardware] {
                assert!(has(p.name, first, mode), "{} {}", p.name, mode.name());
            }
            // SQLite's own journals have not been counted: their runs say so.
            for s in p.schemes.iter().filter(|s| !s.of_library()) {
                for mode in [Mode::Grouped, Mode::Ordered, Mode::PerStore] {
                    assert!(has(p.name, s.name(), mode), "{} {} {}", p.name, s.name(), mode.name());
                    assert_eq!(costs(p.name, *s, mode).len(), NAMES.len());
                }
            }
        }
    }
    /// Neither program nor scheme gives one configuration the costs of another's runtime.
    #[test]
    fn an_unknown_configuration_is_given_estimates_of_the_runtime() {
        // Software logs by itself in no program that has only the raw scheme.
        let known = |p: &str, s: Scheme| is_measured(p, s, Mode::Grouped);
        let all = programs();
        let schemes = all.iter().flat_map(|p| p.schemes).copied();
        let (program, scheme) = (all.iter().filter(|p| !DRAWN.contains(&p.name)))
            .flat_map(|p| schemes.clone().map(|s| (p.name, s)))
            .find(|(p, s)| !known(p, *s))
            .expect("some program has no form for some scheme");
        for (program, scheme) in [(program, scheme), ("nothing", Scheme::UndoArray)] {
            assert!(!known(program, scheme));
            let costs = costs(program, scheme, Mode::Grouped);
            for ((site, name), estimate) in NAMES.iter().zip(ESTIMATES) {
                let met: Vec<Measured> = measured().filter(|m| m.site == *name).collect();
                let mut of: Vec<Measured> = met.iter().filter(|m| m.program == program).copied().collect();
                if of.is_empty() {
                    of = met;
                }
                let expected = match RUNTIME.contains(site) || of.is_empty() {
                    true => *estimate,
                    false => mean(&of.iter().collect::<Vec<_>>()),
                };
                assert_eq!(costs[usize::from(site.0)], expected, "{program} {name}");
            }
        }
    }
    #[test]
    fn a_run_is_given_the_mean_of_its_own_configuration() {
        for m in measured().filter(|m| m.site == "LOG_RECORD") {
            let raw = |word: &str| fencepost_kernel::params::Raw::Text(word.into());
            let (scheme, mode) = (Scheme::from_raw(&raw(m.scheme)), Mode::from_raw(&raw(m.mode)));
            let given = costs(m.program, scheme.expect("a scheme"), mode.expect("a mode"));
            assert_eq!(given[usize::from(LOG_RECORD.0)], m.instructions.round() as u32);
        }
        // Two runs of 10 and 30 occurrences: each occurrence counts alike.
        let seen = |times, instructions| Measured {
            program: "",
            scheme: "",
            mode: "",
            site: "",
            times,
            instructions,
        };
        assert_eq!(mean(&[&seen(10, 100.0), &seen(30, 20.0)]), 40);
    }
}
