//! What a program is built from, how programs describe themselves, and why one may be refused.

use crate::choices::{Scheme, Variant};
use fencepost_kernel::params::{Field, ParamError, Params, Raw};
use fencepost_kernel::{Honours, Program, Transactions};

/// Most software threads a program can be built for (a tag of one byte names the writer of a value).
pub const MAX_THREADS: u32 = 254;

/// How to build a program.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Software threads, at least 1.
    pub threads: u32,
    /// Operations each thread may run in total, warm-up included; sizes the allocation pools.
    pub ops: u32,
    /// Seed of every random choice of the program.
    pub seed: u64,
    /// Bytes by which each thread's log begins later than a multiple of a page after the log of the thread before it; whole lines.
    pub log_stagger: u64,
    /// Logging scheme, where the dialect leaves logging to software.
    pub scheme: Scheme,
    /// The correct program or a deliberate mistake.
    pub variant: Variant,
    /// Parameters of the program that differ from their defaults, by name.
    pub params: Vec<(String, Raw)>,
    /// What the design honours, for programs that are drawn from it; without it, the idioms of the dialect and non-temporal stores.
    pub honours: Option<Honours>,
}
impl Settings {
    /// What a program's set-up depends on: all but what the design honours, which only operations are drawn from.
    pub fn of_setup(&self) -> Settings {
        Settings {
            honours: None,
            ..self.clone()
        }
    }
}
impl Default for Settings {
    fn default() -> Self {
        let (scheme, variant) = (Scheme::UndoArray, Variant::Correct);
        Settings {
            threads: 1,
            ops: 1000,
            seed: 1,
            log_stagger: 0,
            scheme,
            variant,
            params: Vec::new(),
            honours: None,
        }
    }
}

/// Why a program could not be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProgramError {
    /// No such program.
    #[error("unknown program `{name}`{hint}; the programs are {known}", hint = .nearest.map(|n| format!(", did you mean `{n}`?")).unwrap_or_default(), known = .known.join(", "))]
    Unknown {
        /// The name given.
        name: String,
        /// The most similar known name, if one is similar.
        nearest: Option<&'static str>,
        /// Every known name.
        known: Vec<&'static str>,
    },
    /// The program has no form under this logging scheme.
    #[error("`{program}` has no `{scheme}` form; it has {}", .known.join(", "))]
    Scheme {
        /// The program.
        program: &'static str,
        /// The scheme asked for.
        scheme: &'static str,
        /// The schemes it has.
        known: Vec<&'static str>,
    },
    /// The program has no such variant.
    #[error("`{program}` has no variant `{variant}` under this logging scheme; it has {}", .known.join(", "))]
    Variant {
        /// The program.
        program: &'static str,
        /// The variant asked for.
        variant: &'static str,
        /// The variants it has.
        known: Vec<&'static str>,
    },
    /// A parameter was refused.
    #[error("program `{program}`: {source}{}", nearest_param(.source))]
    Param {
        /// The program.
        program: &'static str,
        /// Why.
        source: ParamError,
    },
    /// The settings contradict each other or exceed a limit.
    #[error("program `{program}`: {why}")]
    Impossible {
        /// The program.
        program: &'static str,
        /// What is wrong, and what would be right.
        why: String,
    },
}

fn nearest_param(e: &ParamError) -> String {
    match e {
        ParamError::Unknown { name, known } => {
            let hint = nearest(name, known)
                .map(|n| format!(", did you mean `{n}`?"))
                .unwrap_or_default();
            format!("{hint}; it has {}", known.join(", "))
        }
        ParamError::Value { .. } => String::new(),
    }
}

/// The known name most similar to `name` by edit distance, if it is similar at all.
pub fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let best = known.iter().map(|k| (distance(name, k), *k)).min()?;
    (best.0 <= 1 + name.len().max(best.1.len()) / 3).then_some(best.1)
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A program that describes itself and can be built from settings.
pub trait Described: Program {
    /// Its name on the command line.
    const NAME: &'static str;
    /// One line for listings.
    const ABOUT: &'static str;
    /// Logging schemes it has a form for.
    const SCHEMES: &'static [Scheme];
    /// Deliberate mistakes of its own, beyond those of the runtime.
    const OWN_VARIANTS: &'static [Variant];
    /// Mistakes of the runtime that do no harm here under a scheme, because no crash can tell.
    const HARMLESS: &'static [(Scheme, Variant)] = &[];
    /// Parameters, by name and value, that make its structures so small that a few operations of several threads meet: for checks.
    const SMALL: &'static [(&'static str, &'static str)] = &[];
    /// Parameters besides those that make it smaller still, where all crash states of one thread's few operations are searched.
    const SMALLEST: &'static [(&'static str, &'static str)] = &[];
    /// Operations of one thread in which every kind of operation occurs at such sizes.
    const FEW_OPS: u32 = 6;

    /// Its declared parameters.
    fn fields() -> Vec<Field>;
    /// Builds it. The registry has checked scheme, variant and thread count.
    fn build(settings: &Settings) -> Result<Self, ProgramError>;

    /// What clients do that persist over a network beside it; `None`: they keep to memory of their own.
    fn clients(&self, _seed: u64) -> Option<Transactions> {
        None
    }
    /// Every variant it has under `scheme`, `correct` first.
    fn variants(scheme: Scheme) -> Vec<Variant> {
        let all = [&[Variant::Correct], Variant::RUNTIME, Self::OWN_VARIANTS].concat();
        all.into_iter()
            .filter(|v| v.applies(scheme) && !Self::HARMLESS.contains(&(scheme, *v)))
            .collect()
    }
    /// Builds it after checking what is common to all programs.
    fn checked(settings: &Settings) -> Result<Self, ProgramError> {
        let program = Self::NAME;
        if !settings.scheme.is_served_by(Self::SCHEMES) {
            let known = Self::SCHEMES.iter().map(|s| s.name()).collect();
            return Err(ProgramError::Scheme {
                program,
                scheme: settings.scheme.name(),
                known,
            });
        }
        if !Self::variants(settings.scheme).contains(&settings.variant) {
            let known = Self::variants(settings.scheme).iter().map(|v| v.name()).collect();
            return Err(ProgramError::Variant {
                program,
                variant: settings.variant.name(),
                known,
            });
        }
        if settings.threads == 0 || settings.threads > MAX_THREADS {
            return Err(impossible::<Self>(format!(
                "threads = {} is not within 1..={MAX_THREADS}",
                settings.threads
            )));
        }
        if settings.ops > u32::MAX / 8 {
            return Err(impossible::<Self>(format!(
                "ops = {} exceeds {}",
                settings.ops,
                u32::MAX / 8
            )));
        }
        Self::build(settings)
    }
}

pub(crate) fn impossible<P: Described>(why: impl Into<String>) -> ProgramError {
    ProgramError::Impossible {
        program: P::NAME,
        why: why.into(),
    }
}

/// The program's parameters with the overrides of `settings` applied.
pub(crate) fn read_params<P: Described, S: Params>(settings: &Settings) -> Result<S, ProgramError> {
    let mut params = S::default();
    for (name, raw) in &settings.params {
        params.set(name, raw).map_err(|source| ProgramError::Param {
            program: P::NAME,
            source,
        })?;
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn nearest_words() {
        let known = ["cq", "sps", "hash", "rbtree"];
        assert_eq!(nearest("rbtre", &known), Some("rbtree"));
        assert_eq!(nearest("hsah", &known), Some("hash"));
        assert_eq!(nearest("completely-else", &known), None);
        assert_eq!((distance("kitten", "sitting"), distance("", "abc")), (3, 3));
    }
}
