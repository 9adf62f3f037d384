//! Compute sites: the stretches of instructions between memory operations, and what each costs.
//!
//! `compute(site)` stands for the instructions that a thread executed since its previous `compute`, other than its memory
//! operations. How many those are is measured on the native build of this very source (`examples/measure_sites.rs`: the
//! programs run on plain memory under an instruction tracer, which attributes every instruction to the marker that ends its
//! stretch; instructions of the memory back end, and of calling it, are taken out). The costs are in a generated file.
//!
//! **Which number a run is given.** The mean over the occurrences of the site in the measured run of the same program, scheme
//! and [`Mode`]. The mean is the one statistic that keeps totals: a simulated run of that configuration executes as many
//! instructions as the native one did, however skewed a site's costs are. Nothing is shared between configurations, because
//! they differ for reasons that are theirs (what a compiler made of a loop, how many inputs a region has). A site that a
//! measured run happened not to meet takes the mean over all occurrences in the program's other runs, then in those of
//! all programs.

use crate::settings::Settings;
use crate::words::{Coupling, Scheme};
use fencepost_kernel::params::ParamValue as _;
use fencepost_kernel::{Dialect, LogPath, Logging, Site};

macro_rules! sites {
    ($($(#[doc = $doc:literal])* $name:ident = $id:literal),* $(,)?) => {
        $($(#[doc = $doc])* pub const $name: Site = Site($id);)*
        /// Every site with its name, in id order.
        pub const NAMES: &[(Site, &str)] = &[$(($name, stringify!($name))),*];
    };
}

sites! {
    /// Start of a transaction, with the locks before it.
    TX_BEGIN = 0,
    /// One call of the logging runtime: from the program's store to the record's head and first word.
    LOG_RECORD = 1,
    /// One more word of a record.
    LOG_WORD = 2,
    /// One tracked store outside the log: bookkeeping of the transaction's dirty lines.
    TX_STORE = 3,
    /// Look-up of a transaction's own buffered writes (redo).
    TX_LOOKUP = 4,
    /// From the last store or look-up to the start of commit.
    TX_COMMIT = 5,
    /// Taking a block from an allocation pool.
    ALLOC = 6,
    /// Returning a block, after the commit that unlinked it.
    FREE = 7,
    /// Hashing a key to its bucket.
    HASH_KEY = 8,
    /// One step of a search along a chain.
    CHAIN_STEP = 9,
    /// One step of a search down a binary tree.
    TREE_STEP = 10,
    /// One turn of a tree's rebalancing loop, or one rotation.
    REBALANCE = 11,
    /// One probe of a binary search inside a wide node.
    NODE_PROBE = 12,
    /// Moving one pair inside a wide node.
    PAIR_MOVE = 13,
    /// One word of an array entry: merging the tag.
    ENTRY_WORD = 14,
    /// Start of an operation of `cq`: from the end of the one before, random numbers and choice of keys included.
    CQ_PROLOGUE = 15,
    /// End of an operation of `cq`: from its commit to its outcome.
    CQ_EPILOGUE = 16,
    /// Start of an operation of `sps`: from the end of the one before, random numbers and choice of keys included.
    SPS_PROLOGUE = 17,
    /// End of an operation of `sps`: from its commit to its outcome.
    SPS_EPILOGUE = 18,
    /// Start of an operation of `hash`: from the end of the one before, random numbers and choice of keys included.
    HASH_PROLOGUE = 19,
    /// End of an operation of `hash`: from its commit to its outcome.
    HASH_EPILOGUE = 20,
    /// Start of an operation of `rbtree`: from the end of the one before, random numbers and choice of keys included.
    RBTREE_PROLOGUE = 21,
    /// End of an operation of `rbtree`: from its commit to its outcome.
    RBTREE_EPILOGUE = 22,
    /// Start of an operation of `bplustree`: from the end of the one before, random numbers and choice of keys included.
    BPLUSTREE_PROLOGUE = 23,
    /// End of an operation of `bplustree`: from its commit to its outcome.
    BPLUSTREE_EPILOGUE = 24,
    /// Start of an operation of `commitstore`: from the end of the one before, random numbers and choice of keys included.
    COMMITSTORE_PROLOGUE = 25,
    /// End of an operation of `commitstore`: from its commit to its outcome.
    COMMITSTORE_EPILOGUE = 26,
    /// iDO: from the last store of the region before, over the reads and choices of inputs, to the record's head.
    REGION_RECORD = 27,
}

fencepost_kernel::param_words! {
    /// What the transaction runtime does, besides its scheme: what tells measured runs of one program and scheme apart.
    pub enum Mode {
        /// No log.
        None = "none",
        /// The hardware logs.
        Hardware = "hardware",
        /// Software logs whole objects ahead.
        Grouped = "grouped",
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
            (_, Coupling::Grouped, _) | (_, Coupling::Auto, LogPath::Temporal) => Mode::Grouped,
            (_, Coupling::PerStore, _) | (_, Coupling::Auto, LogPath::NonTemporal) => Mode::PerStore,
        }
    }
}

/// Instructions of every site in a run of this program as built from `settings`, under this dialect; see [`costs`].
pub fn costs_of(program: &str, settings: &Settings, dialect: &Dialect) -> Vec<u32> {
    let set = settings.params.iter().rev().find(|p| p.0 == "coupling");
    let coupling = set
        .and_then(|p| Coupling::from_raw(&p.1).ok())
        .unwrap_or(Coupling::Auto);
    costs(program, settings.scheme, Mode::of(dialect, coupling))
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
    lines().filter_map(|line| {
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
    })
}
fn lines() -> impl Iterator<Item = &'static str> {
    let text = include_str!("sites/measured.csv").lines();
    text.filter(|l| !l.starts_with('#')).skip(1)
}

/// Instructions of every site in a run of this program, in id order, memory operations not counted.
pub fn costs(program: &str, scheme: Scheme, mode: Mode) -> Vec<u32> {
    let all: Vec<Measured> = measured().collect();
    // Where software does not log, the scheme plays no part.
    let logs = matches!(mode, Mode::Grouped | Mode::PerStore);
    let cost = |(_, name): &(Site, &str)| {
        let same =
            |m: &&Measured| m.program == program && m.mode == mode.word() && (!logs || m.scheme == scheme.word());
        let met: Vec<&Measured> = all.iter().filter(|m| m.site == *name).collect();
        let exact: Vec<&Measured> = met.iter().copied().filter(same).collect();
        let here: Vec<&Measured> = met.iter().copied().filter(|m| m.program == program).collect();
        let from = [exact, here, met].into_iter().find(|some| !some.is_empty());
        from.map_or(0, |some| mean(&some))
    };
    NAMES.iter().map(cost).collect()
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
            assert!(Mode::WORDS.contains(&m.mode), "{m:?}");
            let program = programs().into_iter().find(|p| p.word == m.program);
            let schemes = program.unwrap_or_else(|| panic!("{m:?}: the program is gone")).schemes;
            assert!(
                schemes.iter().any(|s| s.word() == m.scheme),
                "{m:?}: the scheme is gone"
            );
        }
    }
    #[test]
    fn every_configuration_was_measured_and_every_site_has_a_cost() {
        for (i, (site, name)) in NAMES.iter().enumerate() {
            assert_eq!(usize::from(site.0), i);
            assert!(measured().any(|m| m.site == *name), "{name} was never measured");
        }
        let has =
            |p: &str, s: &str, mode: Mode| measured().any(|m| (m.program, m.scheme, m.mode) == (p, s, mode.word()));
        for p in programs() {
            let first = p.schemes[0].word();
            assert!(
                has(p.word, first, Mode::None) && has(p.word, first, Mode::Hardware),
                "{}",
                p.word
            );
            for s in p.schemes {
                for mode in [Mode::Grouped, Mode::PerStore] {
                    assert!(has(p.word, s.word(), mode), "{} {} {}", p.word, s.word(), mode.word());
                    assert_eq!(costs(p.word, *s, mode).len(), NAMES.len());
                }
            }
        }
    }
    #[test]
    fn a_run_is_given_the_mean_of_its_own_configuration() {
        let m = measured().find(|m| m.site == "LOG_RECORD").expect("measured");
        let scheme = Scheme::WORDS.iter().position(|w| *w == m.scheme).expect("a scheme");
        let scheme = [
            Scheme::UndoArray,
            Scheme::UndoList,
            Scheme::Redo,
            Scheme::Ido,
            Scheme::Raw,
        ][scheme];
        let mode = if m.mode == "grouped" {
            Mode::Grouped
        } else {
            Mode::PerStore
        };
        let given = costs(m.program, scheme, mode)[usize::from(LOG_RECORD.0)];
        assert_eq!(given, m.instructions.round() as u32);
        // Two runs of 10 and 30 occurrences: each occurrence counts alike.
        let (a, b) = (
            Measured {
                times: 10,
                instructions: 100.0,
                ..m
            },
            Measured {
                times: 30,
                instructions: 20.0,
                ..m
            },
        );
        assert_eq!(mean(&[&a, &b]), 40);
    }
}
