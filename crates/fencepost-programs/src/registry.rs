//! From a program's name to the program: one line per program.

use crate::choices::{Scheme, Variant};
use crate::settings::{Described, ProgramError, Settings, nearest};
use fencepost_kernel::params::{Field, Raw};
use fencepost_kernel::{Program, Transactions};

/// What is to be done with a program, whatever its type.
pub trait Visit {
    /// The result.
    type Out;
    /// Called with the program that was asked for.
    fn visit<P: Described>(self, program: P) -> Self::Out;
}

/// What a listing shows of a program.
#[derive(Clone, Debug)]
pub struct About {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Logging schemes it has a form for; the first is its natural one.
    pub schemes: &'static [Scheme],
    /// Per scheme: `correct` and the deliberate mistakes.
    pub variants: Vec<(Scheme, Vec<Variant>)>,
    /// Declared parameters.
    pub fields: Vec<Field>,
    /// Parameters, by name and value, that make its structures small: for checks.
    pub small: &'static [(&'static str, &'static str)],
    /// Parameters besides those for a search of all crash states.
    pub smallest: &'static [(&'static str, &'static str)],
    /// Operations in which every kind of operation occurs at such sizes.
    pub few_ops: u32,
    /// Whether its threads race on purpose.
    pub races: bool,
}

impl About {
    /// The small sizes as parameters of [`Settings`].
    pub fn small_params(&self) -> Vec<(String, Raw)> {
        let raw = |v: &str| v.parse().map_or_else(|_| Raw::Text(v.to_owned()), Raw::Int);
        self.small.iter().map(|(n, v)| ((*n).to_owned(), raw(v))).collect()
    }
}

/// The programs of the WHISPER suite, in the order of the paper of per-task committing (Table III).
pub const WHISPER: [&str; 11] = [
    "echo",
    "nstore-ycsb",
    "nstore-tpcc",
    "redis",
    "ctree",
    "hashmap",
    "vacation",
    "memcached",
    "nfs",
    "exim",
    "mysql",
];

macro_rules! programs {
    ($($program:ty),* $(,)?) => {
        /// Every program, in listing order.
        pub fn programs() -> Vec<About> {
            vec![$(About {
                name: <$program>::NAME,
                about: <$program>::ABOUT,
                schemes: <$program>::SCHEMES,
                variants: <$program>::SCHEMES.iter().map(|s| (*s, <$program>::variants(*s))).collect(),
                fields: <$program>::fields(),
                small: <$program>::SMALL,
                smallest: <$program>::SMALLEST,
                few_ops: <$program>::FEW_OPS,
                races: <$program as Program>::RACES,
            }),*]
        }
        /// Builds the program called `name` and hands it to `visitor`.
        pub fn with_program<V: Visit>(name: &str, settings: &Settings, visitor: V) -> Result<V::Out, ProgramError> {
            $(if name == <$program>::NAME {
                return Ok(visitor.visit(<$program>::checked(settings)?));
            })*
            Err(unknown(name))
        }
        /// How much memory the program called `name` may touch, built from `settings`.
        pub fn footprint(name: &str, settings: &Settings) -> Result<crate::layout::Footprint, ProgramError> {
            $(if name == <$program>::NAME {
                return Ok(<$program>::checked(settings)?.footprint());
            })*
            Err(unknown(name))
        }
        /// What clients do beside the program called `name`, if it says so.
        pub fn clients_beside(name: &str, settings: &Settings, seed: u64) -> Result<Option<Transactions>, ProgramError> {
            $(if name == <$program>::NAME {
                return Ok(<$program>::checked(settings)?.clients(seed));
            })*
            Err(unknown(name))
        }
    };
}

programs! {
    crate::cq::Cq,
    crate::sps::Sps,
    crate::hash::Hash,
    crate::rbtree::RbTree,
    crate::bplustree::BPlusTree,
    crate::ll::Ll,
    crate::ctree::Ctree,
    crate::hashmap::Hashmap,
    crate::pc::Pc,
    crate::tatp::Tatp,
    crate::tpcc::Tpcc,
    crate::btree::BTree,
    crate::ssca2::Ssca2,
    crate::sdg::Sdg,
    crate::sqlite::Sqlite,
    crate::redis::Redis,
    crate::memcached::Memcached,
    crate::vacation::Vacation,
    crate::echo::Echo,
    crate::nstore::Ycsb,
    crate::nstore::Tpcc,
    crate::pmfs::Pmfs,
    crate::pmfs::Nfs,
    crate::pmfs::Exim,
    crate::pmfs::Mysql,
    crate::commitstore::CommitStore,
    crate::random::Random,
}

fn unknown(name: &str) -> ProgramError {
    let known: Vec<&'static str> = programs().iter().map(|p| p.name).collect();
    ProgramError::Unknown {
        name: name.into(),
        nearest: nearest(name, &known),
        known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Threads;
    impl Visit for Threads {
        type Out = ();
        fn visit<P: Program>(self, _: P) {}
    }
    fn refusal(name: &str, settings: Settings) -> String {
        with_program(name, &settings, Threads).unwrap_err().to_string()
    }
    #[test]
    fn every_listed_program_builds_under_every_scheme_and_variant() {
        for p in programs() {
            assert!(!p.schemes.is_empty());
            for (scheme, variants) in &p.variants {
                assert_eq!(variants[0], Variant::Correct);
                for variant in variants {
                    let s = Settings {
                        scheme: *scheme,
                        variant: *variant,
                        ..Settings::default()
                    };
                    with_program(p.name, &s, Threads).unwrap();
                    assert!(footprint(p.name, &s).unwrap().pm.0 > 4096);
                }
            }
        }
    }
    #[test]
    fn refusals_name_what_is_known() {
        let params = vec![("entris".to_string(), Raw::Int(3))];
        assert_eq!(
            refusal(
                "sps",
                Settings {
                    params,
                    ..Settings::default()
                }
            ),
            "program `sps`: unknown parameter `entris`, did you mean `entries`?; it has entries, entry, swaps, locks, copy_order, coupling"
        );
        assert!(
            refusal("spss", Settings::default())
                .starts_with("unknown program `spss`, did you mean `sps`?; the programs are cq")
        );
        let raw = Settings {
            scheme: Scheme::Raw,
            ..Settings::default()
        };
        assert_eq!(
            refusal("sps", raw),
            "`sps` has no `raw` form; it has undo-array, undo-list, library-array, library-list, redo, redo-block, ido"
        );
        let variant = Settings {
            variant: Variant::TokenFirst,
            ..Settings::default()
        };
        assert!(refusal("cq", variant).starts_with("`cq` has no variant `token-first`"));
        assert!(
            refusal(
                "cq",
                Settings {
                    threads: 0,
                    ..Settings::default()
                }
            )
            .contains("threads = 0")
        );
        let params = vec![("entry".to_string(), Raw::Text("16B".into()))];
        assert!(
            refusal(
                "sps",
                Settings {
                    params,
                    ..Settings::default()
                }
            )
            .contains("neither 8B nor 64B")
        );
    }
}
