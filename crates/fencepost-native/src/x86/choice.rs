//! What measured code is compiled for: every way of logging, with and without the fences between log and data.

use super::memory::{Choice, Native, Raw};
use fencepost_kernel::{Build, Dialect, Fence, Flavour, Flush, LogPath, Logging, Mem, Mode, Program, Shape};

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
    durable: SFENCE,
    order_is_durable: true,
    ..Dialect::PLAIN
};
/// The same without the fences between log and data (themis II-D).
pub const IDEAL: Dialect = Dialect {
    name: "ideal",
    log_to_data: &[],
    ..BASELINE
};

/// The two builds of a way of logging that are compared.
pub trait Pair {
    /// Memory compiled with the fences.
    type Baseline: Mem<Dep = ()>;
    /// Memory compiled without those between log and data.
    type Ideal: Mem<Dep = ()>;
    /// Both.
    fn memories(raw: Raw) -> (Self::Baseline, Self::Ideal);
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

macro_rules! pairs {
    ($($baseline:ident / $ideal:ident, $pair:ident: $mode:expr;)*) => {
        $(
            struct $baseline;
            impl Choice for $baseline {
                const FIXED: Option<&'static Build> = Some(&Build { dialect: BASELINE, mode: $mode });
            }
            struct $ideal;
            impl Choice for $ideal {
                const FIXED: Option<&'static Build> = Some(&Build { dialect: IDEAL, mode: $mode });
            }
            struct $pair;
            impl Pair for $pair {
                type Baseline = Native<$baseline>;
                type Ideal = Native<$ideal>;
                fn memories(raw: Raw) -> (Native<$baseline>, Native<$ideal>) {
                    (Native::new(raw), Native::new(raw))
                }
            }
        )*
    };
}
pairs! {
    ArrayBaseline / ArrayIdeal, Array: undo(Flavour::Inline, Shape::Array);
}
#[cfg(not(debug_assertions))]
pairs! {
    ListBaseline / ListIdeal, List: undo(Flavour::Inline, Shape::List);
    LibraryArrayBaseline / LibraryArrayIdeal, LibraryArray: undo(Flavour::Library, Shape::Array);
    LibraryListBaseline / LibraryListIdeal, LibraryList: undo(Flavour::Library, Shape::List);
    IdoBaseline / IdoIdeal, Ido: Mode::Ido;
    // These have no fence between log and data: both builds are alike, and only the first is run.
    RedoBaseline / RedoIdeal, Redo: Mode::Redo;
    RedoBlockBaseline / RedoBlockIdeal, RedoBlock: Mode::RedoBlock;
    ByHandBaseline / ByHandIdeal, ByHand: Mode::Raw;
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

/// Calls `work` compiled for a mode; `None` where native runs do not have it.
#[cfg(not(debug_assertions))]
pub fn dispatch<P: Program, W: WithPair>(mode: Mode, program: &P, work: W) -> Option<W::Out> {
    use Flavour::{Inline, Library};
    Some(match mode {
        m if m == undo(Inline, Shape::Array) => work.with::<P, Array>(program),
        m if m == undo(Inline, Shape::List) => work.with::<P, List>(program),
        m if m == undo(Library, Shape::Array) => work.with::<P, LibraryArray>(program),
        m if m == undo(Library, Shape::List) => work.with::<P, LibraryList>(program),
        Mode::Ido => work.with::<P, Ido>(program),
        Mode::Redo => work.with::<P, Redo>(program),
        Mode::RedoBlock => work.with::<P, RedoBlock>(program),
        Mode::Raw => work.with::<P, ByHand>(program),
        _ => return None,
    })
}

/// Chosen when a run begins: the memory that checks use.
#[cfg(debug_assertions)]
struct Chosen;
#[cfg(debug_assertions)]
impl Pair for Chosen {
    type Baseline = super::watched::Watched<'static>;
    type Ideal = super::watched::Watched<'static>;
    fn memories(raw: Raw) -> (Self::Baseline, Self::Ideal) {
        let memory = || super::watched::Watched::new(raw, None, 0);
        (memory(), memory())
    }
}
/// Calls `work` compiled for a mode, or for all of them; `None` where native runs do not have it.
#[cfg(debug_assertions)]
pub fn dispatch<P: Program, W: WithPair>(mode: Mode, program: &P, work: W) -> Option<W::Out> {
    Some(match mode {
        m if m == undo(Flavour::Inline, Shape::Array) => work.with::<P, Array>(program),
        Mode::Undo { grouped: false, .. } | Mode::Ido | Mode::Redo | Mode::RedoBlock | Mode::Raw => {
            work.with::<P, Chosen>(program)
        }
        _ => return None,
    })
}
