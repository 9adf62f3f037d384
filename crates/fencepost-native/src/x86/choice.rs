//! What measured code is compiled for: every way of logging.

use super::memory::{Choice, Native, Raw};
use fencepost_kernel::{Build, Dialect, Fence, Flavour, Flush, LogPath, Logging, Mem, Mode, Program, Shape};
use fencepost_programs::settings::Described;
use fencepost_programs::{LogForm, Scheme};

const SFENCE: &[Fence] = &[Fence::Sfence];
/// x86 as software uses it: logs past the caches, clwb for data, sfence between them (themis II-C, V-A). `Clwb` stands for whichever
/// flush the CPU has.
pub const BASELINE: Dialect = Dialect {
    name: "baseline",
    logging: Logging::Software,
    flush: Some(Flush::Clwb),
    order: SFENCE,
    log_path: LogPath::NonTemporal,
    log_to_data: SFENCE,
    log_link: Some(SFENCE),
    durable: SFENCE,
    order_is_durable: true,
    ..Dialect::PLAIN
};
/// The same without the fences within a pair of log entry and data (themis II-D): those between a record and the link to it are two of
/// that pair's as well.
pub const IDEAL: Dialect = Dialect {
    name: "ideal",
    log_to_data: &[],
    log_link: Some(&[]),
    ..BASELINE
};

/// x86 as the implementation does that section II-D of themis cites: its log entries go through the caches and are flushed, as data is. Past the
/// caches they went for the evaluation only (V-A: "Furthermore, we also make use of non-temporal store instructions").
const CITED: Dialect = Dialect {
    name: "cited",
    log_path: LogPath::Temporal,
    ..BASELINE
};
/// The same without the fences within a pair of log entry and data.
const CITED_IDEAL: Dialect = Dialect {
    name: "cited-ideal",
    log_path: LogPath::Temporal,
    ..IDEAL
};
/// The idioms of a way of logging, with the fences within a pair of log entry and data and without: a list in a library is what section II-D cites.
pub const fn dialects(mode: Mode) -> [Dialect; 2] {
    match mode {
        Mode::Undo {
            flavour: Flavour::Library,
            shape: Shape::List,
            ..
        } => [CITED, CITED_IDEAL],
        _ => [BASELINE, IDEAL],
    }
}

/// A way of logging that measured code is compiled for. With and without the fences between log and data is one code, told at run time
/// ([`Mem::log_fence`]): so the two that are compared lie in the same place and differ in nothing but their fences.
pub trait Pair {
    /// The way of logging.
    const MODE: Mode;
    /// Memory compiled for it.
    type Memory: Mem<Dep = ()>;
    /// With the fences between log and data, or without.
    fn memory(raw: Raw, log_fences: bool) -> Self::Memory;
}
/// What is done with a pair, whatever its types.
pub trait WithPair {
    /// The result.
    type Out;
    /// Called with the pair of the wanted mode.
    fn with<P: Program, Q: Pair>(self, program: &P) -> Self::Out;
}

const fn undo(flavour: Flavour, shape: Shape) -> Mode {
    Mode::Undo {
        flavour,
        shape,
        grouped: false,
    }
}

/// Ways of logging, each with its memory.
macro_rules! pairs {
    ($($choice:ident, $pair:ident: $mode:expr;)*) => {
        $(
            struct $choice;
            impl $choice {
                const BUILD: Build = Build {
                    dialect: dialects($mode)[0],
                    mode: $mode,
                };
            }
            impl Choice for $choice {
                const FIXED: Option<&'static Build> = Some(&Self::BUILD);
            }
            struct $pair;
            impl Pair for $pair {
                const MODE: Mode = $choice::BUILD.mode;
                type Memory = Native<$choice>;
                fn memory(raw: Raw, log_fences: bool) -> Native<$choice> {
                    Native::new(raw, log_fences)
                }
            }
        )*
    };
}
pairs! {
    OfArray, Array: undo(Flavour::Inline, Shape::Array);
}
#[cfg(not(debug_assertions))]
pairs! {
    OfList, List: undo(Flavour::Inline, Shape::List);
    OfLibraryArray, LibraryArray: undo(Flavour::Library, Shape::Array);
    OfLibraryList, LibraryList: undo(Flavour::Library, Shape::List);
    OfIdo, Ido: Mode::Ido;
    OfRedo, Redo: Mode::Redo;
    OfRedoBlock, RedoBlock: Mode::RedoBlock;
    OfByHand, ByHand: Mode::Raw;
}

/// Whether a mode has fences between log and data that `ideal` can be without.
pub fn has_ideal(mode: Mode) -> bool {
    matches!(mode, Mode::Undo { .. } | Mode::Ido)
}

/// Whether measured code is compiled for its way of logging. Builds with assertions are not for measuring, and compile the natural way of
/// logging only; the others are chosen at run time there, which keeps such builds fast to make.
pub fn is_fixed(mode: Mode) -> bool {
    cfg!(not(debug_assertions)) || mode == undo(Flavour::Inline, Shape::Array)
}

/// Whether a program with these schemes runs in this mode, with a barrier for every store.
const fn served(schemes: &[Scheme], mode: Mode) -> bool {
    let mut i = 0;
    while i < schemes.len() {
        let serves = match (schemes[i].form(), mode) {
            (LogForm::Undo(f, s), Mode::Undo { flavour, shape, .. }) => {
                f as u8 == flavour as u8 && s as u8 == shape as u8
            }
            (LogForm::Redo, Mode::Redo) | (LogForm::RedoBlock, Mode::RedoBlock) => true,
            (LogForm::Regions, Mode::Ido) | (LogForm::ByHand, Mode::Raw) => true,
            _ => false,
        };
        if serves {
            return true;
        }
        i += 1;
    }
    false
}

/// Calls `work` compiled for a pair, where that is the mode; not compiled where the program never runs in it.
fn of_pair<P: Described, Q: Pair, W: WithPair>(mode: Mode, program: &P, work: W) -> Result<W::Out, W> {
    if const { served(P::SCHEMES, Q::MODE) } && mode == Q::MODE {
        return Ok(work.with::<P, Q>(program));
    }
    Err(work)
}

/// Calls `work` compiled for a mode; `None` where native runs do not have it.
#[cfg(not(debug_assertions))]
pub fn dispatch<P: Described, W: WithPair>(mode: Mode, program: &P, work: W) -> Option<W::Out> {
    let done = of_pair::<P, Array, W>(mode, program, work)
        .or_else(|work| of_pair::<P, List, W>(mode, program, work))
        .or_else(|work| of_pair::<P, LibraryArray, W>(mode, program, work))
        .or_else(|work| of_pair::<P, LibraryList, W>(mode, program, work))
        .or_else(|work| of_pair::<P, Ido, W>(mode, program, work))
        .or_else(|work| of_pair::<P, Redo, W>(mode, program, work))
        .or_else(|work| of_pair::<P, RedoBlock, W>(mode, program, work))
        .or_else(|work| of_pair::<P, ByHand, W>(mode, program, work));
    done.ok()
}

/// Chosen when a run begins: the memory that checks use.
#[cfg(debug_assertions)]
struct Chosen;
#[cfg(debug_assertions)]
impl Pair for Chosen {
    /// Any; this one is never asked for.
    const MODE: Mode = Mode::Plain;
    type Memory = super::watched::Watched<'static>;
    /// Its dialect has the fences or has them not.
    fn memory(raw: Raw, _: bool) -> Self::Memory {
        super::watched::Watched::new(raw, None, 0)
    }
}
/// Calls `work` compiled for a mode, or for all of them; `None` where native runs do not have it.
#[cfg(debug_assertions)]
pub fn dispatch<P: Described, W: WithPair>(mode: Mode, program: &P, work: W) -> Option<W::Out> {
    let work = match of_pair::<P, Array, W>(mode, program, work) {
        Ok(done) => return Some(done),
        Err(work) => work,
    };
    Some(match mode {
        Mode::Undo { grouped: false, .. } | Mode::Ido | Mode::Redo | Mode::RedoBlock | Mode::Raw => {
            work.with::<P, Chosen>(program)
        }
        _ => return None,
    })
}
