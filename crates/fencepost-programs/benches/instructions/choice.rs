//! The builds that are compiled: every way of logging under the dialects that differ in instructions.

use crate::Stretch;
use fencepost_kernel::params;
use fencepost_kernel::{Build, Dialect, Fence, Flavour, Flush, LogPath, Logging, Mode, Program, Shape};
use fencepost_programs::sites::Mode as SiteMode;
use fencepost_programs::{Coupling, Scheme, programs};

const SFENCE: &[Fence] = &[Fence::Sfence];
/// Non-temporal log, a barrier a store.
const ADR: Dialect = Dialect {
    name: "x86-adr",
    logging: Logging::Software,
    flush: Some(Flush::Clwb),
    order: SFENCE,
    log_path: LogPath::NonTemporal,
    log_to_data: SFENCE,
    durable: SFENCE,
    ..Dialect::PLAIN
};
/// Log through the caches, flushed.
const TEMPORAL: Dialect = Dialect {
    log_path: LogPath::Temporal,
    ..ADR
};
/// The same where nothing needs a flush.
const ORDERED: Dialect = Dialect {
    flush: None,
    ..TEMPORAL
};
const VOLATILE: Dialect = Dialect {
    logging: Logging::None,
    ..ADR
};
const HARDWARE: Dialect = Dialect {
    logging: Logging::Hardware,
    ..ADR
};

/// A build as a type.
pub trait Choice: 'static {
    /// Its constants.
    const BUILD: &'static Build;
    /// Whether whole operations are counted in it too.
    const COUNTED: bool;
}

macro_rules! choices {
    ($($name:ident: $dialect:expr, $mode:expr, $counted:literal;)*) => {
        $(
            pub(crate) struct $name;
            impl Choice for $name {
                const BUILD: &'static Build = &Build { dialect: $dialect, mode: $mode };
                const COUNTED: bool = $counted;
            }
        )*
        const BUILDS: &[&Build] = &[$($name::BUILD),*];
        /// Runs the stretch compiled for build `index`.
        pub(crate) fn dispatch<P: Program>(index: usize, stretch: &Stretch<P>) {
            let run: &[fn(&Stretch<P>)] = &[$(Stretch::run::<$name>),*];
            run[index](stretch);
        }
    };
}
const fn undo(flavour: Flavour, shape: Shape, grouped: bool) -> Mode {
    Mode::Undo {
        flavour,
        shape,
        grouped,
    }
}
use Flavour::{Inline, Library};
use Shape::{Array, List};
choices! {
    Volatile: VOLATILE, Mode::Plain, true;
    Hardware: HARDWARE, Mode::Hardware, false;
    InlineArray: ADR, undo(Inline, Array, false), true;
    InlineArrayGrouped: TEMPORAL, undo(Inline, Array, true), false;
    InlineArrayOrdered: ORDERED, undo(Inline, Array, true), false;
    InlineArrayAhead: ADR, undo(Inline, Array, true), true;
    InlineList: ADR, undo(Inline, List, false), false;
    InlineListGrouped: TEMPORAL, undo(Inline, List, true), false;
    InlineListOrdered: ORDERED, undo(Inline, List, true), false;
    LibraryArray: ADR, undo(Library, Array, false), true;
    LibraryArrayGrouped: TEMPORAL, undo(Library, Array, true), false;
    LibraryArrayOrdered: ORDERED, undo(Library, Array, true), false;
    LibraryList: ADR, undo(Library, List, false), false;
    LibraryListGrouped: TEMPORAL, undo(Library, List, true), false;
    LibraryListOrdered: ORDERED, undo(Library, List, true), false;
    Redo: ADR, Mode::Redo, false;
    RedoGrouped: TEMPORAL, Mode::Redo, false;
    RedoOrdered: ORDERED, Mode::Redo, false;
    RedoBlock: ADR, Mode::RedoBlock, false;
    RedoBlockGrouped: TEMPORAL, Mode::RedoBlock, false;
    RedoBlockOrdered: ORDERED, Mode::RedoBlock, false;
    Ido: ADR, Mode::Ido, false;
    IdoGrouped: TEMPORAL, Mode::Ido, false;
    IdoOrdered: ORDERED, Mode::Ido, false;
    Raw: ADR, Mode::Raw, false;
    RawGrouped: TEMPORAL, Mode::Raw, false;
    RawOrdered: ORDERED, Mode::Raw, false;
}

/// One run: a program in one configuration.
#[derive(Copy, Clone)]
pub(crate) struct Run {
    pub program: &'static str,
    pub scheme: Scheme,
    pub mode: SiteMode,
    /// Its build.
    pub choice: usize,
}

fn build(dialect: Dialect, mode: Mode) -> usize {
    let wanted = Build { dialect, mode };
    BUILDS
        .iter()
        .position(|b| **b == wanted)
        .expect("every configuration is compiled")
}

/// Every program under every scheme in each mode of logging, and once without and with hardware logging.
pub(crate) fn runs() -> Vec<Run> {
    let mut out = Vec::new();
    for about in programs() {
        let run = |scheme: Scheme, dialect: Dialect| Run {
            program: about.name,
            scheme,
            mode: SiteMode::of(&dialect, Coupling::Auto),
            choice: build(dialect, scheme.mode(Coupling::Auto, &dialect)),
        };
        for scheme in about.schemes {
            out.extend([ADR, TEMPORAL, ORDERED].map(|d| run(*scheme, d)));
        }
        out.extend([VOLATILE, HARDWARE].map(|d| run(about.schemes[0], d)));
    }
    out
}

/// Sizes that keep the traced setup short; a step of a search costs the same in a small structure.
pub(crate) fn small(program: &str) -> Vec<(String, params::Raw)> {
    let ints: &[(&str, i64)] = match program {
        "sps" => &[("entries", 200)],
        "hash" => &[("buckets", 101), ("keys", 400), ("preload", 200)],
        "rbtree" | "bplustree" => &[("keys", 400), ("preload", 200)],
        "ctree" | "hashmap" => &[("preload", 200)],
        "ll" => &[("keys", 40), ("preload", 20)],
        "pc" => &[("buckets", 101), ("entries", 200)],
        "tatp" => &[("subscribers", 200)],
        "sqlite" => &[("rows", 200)],
        "tpcc" => &[("items", 100), ("customers", 10), ("orders", 10)],
        // Blocks and writes at their sizes: what a copied line costs depends on them.
        "pmfs" => &[("files", 64)],
        "nfs" => {
            return vec![
                ("files".into(), params::Raw::Int(50)),
                ("mean".into(), params::Raw::Text("16KiB".into())),
            ];
        }
        "exim" => &[("mailboxes", 10)],
        "mysql" => &[("rows", 1000), ("pool", 0)],
        _ => {
            let about = programs().into_iter().find(|p| p.name == program);
            return about.map_or_else(Vec::new, |p| p.small_params());
        }
    };
    ints.iter()
        .map(|(n, v)| (n.to_string(), params::Raw::Int(*v)))
        .collect()
}

/// Operations of a traced run: few where one is long.
pub(crate) fn traced_ops(program: &str) -> u32 {
    match program {
        "bplustree" | "sqlite" => 20,
        "tpcc" => 50,
        "nfs" | "exim" | "mysql" => 60,
        _ => 200,
    }
}
/// Sizes at which whole operations are counted: as the C programs have them.
pub(crate) fn counted(program: &str) -> Vec<(String, params::Raw)> {
    let ints: &[(&str, i64)] = match program {
        "tpcc" => &[("items", 10_000), ("customers", 300), ("orders", 300)],
        _ => &[],
    };
    ints.iter()
        .map(|(n, v)| (n.to_string(), params::Raw::Int(*v)))
        .collect()
}

/// A way of running whole operations that is compared.
pub(crate) struct Way {
    /// Its name in the table.
    pub name: &'static str,
    /// The same in the C programs: the value of `LOG`, if they have it.
    pub reference: Option<u32>,
    scheme: Scheme,
    coupling: Coupling,
    dialect: Dialect,
}
/// Without a log; a record and a barrier a store; records ahead of the stores; the library's calls.
pub(crate) const WAYS: &[Way] = &[
    Way {
        name: "volatile",
        reference: Some(0),
        scheme: Scheme::UndoArray,
        coupling: Coupling::Auto,
        dialect: VOLATILE,
    },
    Way {
        name: "inline",
        reference: Some(1),
        scheme: Scheme::UndoArray,
        coupling: Coupling::PerStore,
        dialect: ADR,
    },
    Way {
        name: "inline-grouped",
        reference: Some(2),
        scheme: Scheme::UndoArray,
        coupling: Coupling::Grouped,
        dialect: ADR,
    },
    Way {
        name: "library",
        reference: None,
        scheme: Scheme::LibraryArray,
        coupling: Coupling::PerStore,
        dialect: ADR,
    },
];
impl Way {
    /// The run of a program in this way, if it has it.
    pub(crate) fn run(&self, program: &str) -> Option<Run> {
        let about = programs().into_iter().find(|p| p.name == program)?;
        about.schemes.contains(&self.scheme).then(|| Run {
            program: about.name,
            scheme: self.scheme,
            mode: SiteMode::of(&self.dialect, self.coupling),
            choice: build(self.dialect, self.scheme.mode(self.coupling, &self.dialect)),
        })
    }
}
