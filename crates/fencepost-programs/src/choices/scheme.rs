//! Logging schemes: how the software transaction runtime makes an update atomic.
//!
//! A scheme is one row of `schemes!` below. One of a design's own is a static [`SchemeRow`] anywhere, and [`Scheme::of`] it.

use fencepost_kernel::params::{ParamValue, Raw};
use fencepost_kernel::{Dialect, Flavour, LogPath, Logging, Mode, Shape};
use std::fmt;
use std::hash::{Hash, Hasher};

fencepost_kernel::param_enum! {
    /// How many undo records share one log-to-data barrier.
    pub enum Coupling {
        /// `grouped` where log records take the temporal path, `per-store` where they are non-temporal.
        Auto = "auto",
        /// Objects are logged whole and ahead of their writes; one barrier covers every record written so far.
        Grouped = "grouped",
        /// Coupled logging: each store logs its own old value and has its own barrier.
        PerStore = "per-store",
    }
}

/// The log that a scheme keeps.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LogForm {
    /// Old values, restored by recovery.
    Undo(Flavour, Shape),
    /// New values, replayed by recovery.
    Redo,
    /// Copies of the blocks that a transaction updates.
    RedoBlock,
    /// Inputs of regions, executed again by recovery.
    Regions,
    /// None of the runtime's.
    ByHand,
}

/// What a program must do for a scheme.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Announce its stores.
    Stores,
    /// Name the inputs of its idempotent regions too.
    Regions,
    /// Order its persists itself.
    Orders,
    /// Drive a library that keeps this journal, and order its persists as the library asks.
    Library,
    /// Keep this journal of its own.
    Journal,
}

/// What a scheme is.
pub struct SchemeRow {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// What it does, for lists.
    pub about: &'static str,
    /// The log that it keeps.
    pub form: LogForm,
    /// What it asks of a program.
    pub needs: Needs,
    /// What software writes under it, given what it writes under every other: a scheme may lower its barriers in its own way.
    pub dialect: fn(Dialect) -> Dialect,
}
impl SchemeRow {
    /// The undo log in an array, every barrier as the dialect has it: where a scheme of one's own begins.
    pub const UNDO: SchemeRow = SchemeRow {
        name: "undo-array",
        about: "",
        form: LogForm::Undo(Flavour::Inline, Shape::Array),
        needs: Needs::Stores,
        dialect: |dialect| dialect,
    };
}

/// A logging scheme.
#[derive(Copy, Clone)]
pub struct Scheme {
    row: &'static SchemeRow,
    /// Its place in the list below; [`Scheme::OWN`] if it has none.
    place: u8,
}

macro_rules! schemes {
    ($($(#[doc = $doc:literal])* $scheme:ident = $name:literal: $form:expr, $needs:ident;)*) => {
        enum Place { $($scheme),* }
        #[allow(non_upper_case_globals)] // they read as the variants of an enum
        impl Scheme {
            $($(#[doc = $doc])* pub const $scheme: Scheme = Scheme {
                row: &SchemeRow {
                    name: $name,
                    about: concat!($($doc),*).trim_ascii(),
                    form: $form,
                    needs: Needs::$needs,
                    ..SchemeRow::UNDO
                },
                place: Place::$scheme as u8,
            };)*
        }
        impl Scheme {
            /// Every scheme, in listing order.
            pub const ALL: &'static [Scheme] = &[$(Scheme::$scheme),*];
            /// Every name, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];
            /// What each means, in the same order.
            pub const DOCS: &'static [&'static str] = &[$(concat!($($doc),*).trim_ascii()),*];
        }
        impl ParamValue for Scheme {
            const KIND: &'static str = concat!("one of" $(, " ", $name)*);
            fn from_raw(raw: &Raw) -> Result<Scheme, String> {
                let known = |text: &String| Scheme::ALL.iter().find(|s| s.name() == text).copied();
                match raw {
                    Raw::Text(text) => {
                        known(text).ok_or_else(|| format!("expected {}; found \"{text}\"", <Scheme as ParamValue>::KIND))
                    }
                    other => Err(format!("expected {}; found {other:?}", <Scheme as ParamValue>::KIND)),
                }
            }
            fn show(&self) -> String {
                self.name().to_owned()
            }
        }
    };
}

schemes! {
    /// Undo log in an array, written where the store stands: one sequential record per update, then the update in place.
    UndoArray = "undo-array": LogForm::Undo(Flavour::Inline, Shape::Array), Stores;
    /// Undo log in a linked list, written where the store stands: a node per update, spliced in before the update.
    UndoList = "undo-list": LogForm::Undo(Flavour::Inline, Shape::List), Stores;
    /// Undo log in an array, as a library writes it: a call, checks and an entry of six fields per store.
    LibraryArray = "library-array": LogForm::Undo(Flavour::Library, Shape::Array), Stores;
    /// Undo log in a linked list, as a library writes it (the older form).
    LibraryList = "library-list": LogForm::Undo(Flavour::Library, Shape::List), Stores;
    /// Redo log: new values logged, commit record, then in-place writes.
    Redo = "redo": LogForm::Redo, Stores;
    /// The same by cache block: a copy of each block that a transaction updates, logged once.
    RedoBlock = "redo-block": LogForm::RedoBlock, Stores;
    /// iDO: the inputs of each idempotent region are logged; recovery re-executes the interrupted region.
    Ido = "ido": LogForm::Regions, Regions;
    /// No log: the program orders its own persists by hand. Only programs that have such a form.
    Raw = "raw": LogForm::ByHand, Orders;
    /// SQLite's own rollback journal, in persistent memory beside its pages.
    SqliteJournal = "sqlite-journal": LogForm::ByHand, Library;
    /// SQLite's own write-ahead log, in persistent memory beside its pages.
    SqliteWal = "sqlite-wal": LogForm::ByHand, Library;
    /// The file system's own undo journal of metadata.
    PmfsJournal = "pmfs-journal": LogForm::ByHand, Journal;
}

/// The schemes that ask for no more than these needs, as a constant list: those named by `first`, then the others in listing order.
macro_rules! schemes_for {
    ($($needs:ident)|+ $(, first $($first:ident),+)?) => {{
        const NEEDS: &[$crate::choices::Needs] = &[$($crate::choices::Needs::$needs),+];
        const LIST: [$crate::Scheme; $crate::Scheme::count(NEEDS)] =
            $crate::Scheme::list(NEEDS, &[$($($crate::Scheme::$first),+)?]);
        &LIST
    }};
}
pub(crate) use schemes_for;

impl Scheme {
    const OWN: u8 = u8::MAX;

    /// The schemes that need nothing of a program but that it announces its stores.
    pub const LOGGED: &'static [Scheme] = schemes_for!(Stores);
    /// Every scheme but `raw`: for programs that name the inputs of their idempotent regions too.
    pub const WITH_REGIONS: &'static [Scheme] = schemes_for!(Stores | Regions);
    /// The same as [`Scheme::LOGGED`], redo first: for programs of transactional memory that publishes its stores at commit.
    pub const REDO_FIRST: &'static [Scheme] = schemes_for!(Stores, first Redo, RedoBlock);

    /// Every scheme but those of libraries: for programs that order their persists by hand besides.
    pub const BY_HAND: &'static [Scheme] = schemes_for!(Stores | Regions | Orders);
    /// The same as [`Scheme::LOGGED`], and the journals that SQLite keeps itself.
    pub const SQLITE: &'static [Scheme] = schemes_for!(Stores | Library);

    /// The scheme of a row, of one's own.
    pub const fn of(row: &'static SchemeRow) -> Scheme {
        Scheme {
            row,
            place: Scheme::OWN,
        }
    }
    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        self.row.name
    }
    /// The log that it keeps.
    #[inline]
    pub const fn form(self) -> LogForm {
        self.row.form
    }
    /// Whether it is the journal of a library that the program drives: to the runtime, persists ordered by hand.
    pub fn of_library(self) -> bool {
        self.row.needs == Needs::Library
    }
    /// Whether one of these schemes is this one, or this is one of somebody's own that asks a program for no more than they do.
    pub fn is_served_by(self, schemes: &[Scheme]) -> bool {
        let own = self.place == Scheme::OWN;
        schemes
            .iter()
            .any(|s| *s == self || own && s.row.needs == self.row.needs)
    }
    /// What software writes under it, given what it writes under every other.
    pub fn dialect(self, dialect: Dialect) -> Dialect {
        (self.row.dialect)(dialect)
    }
    /// How transactions run under this scheme and a dialect.
    pub fn mode(self, coupling: Coupling, dialect: &Dialect) -> Mode {
        let grouped = match coupling {
            Coupling::Auto => dialect.log_path == LogPath::Temporal,
            c => c == Coupling::Grouped,
        };
        match (dialect.logging, self.form()) {
            (Logging::None, _) => Mode::Plain,
            (Logging::Hardware, _) => Mode::Hardware,
            (Logging::Software, LogForm::Undo(flavour, shape)) => Mode::Undo {
                flavour,
                shape,
                grouped,
            },
            (Logging::Software, LogForm::Redo) => Mode::Redo,
            (Logging::Software, LogForm::RedoBlock) => Mode::RedoBlock,
            (Logging::Software, LogForm::Regions) => Mode::Ido,
            (Logging::Software, LogForm::ByHand) => Mode::Raw,
        }
    }

    const fn wanted(self, needs: &[Needs]) -> bool {
        let mut i = 0;
        while i < needs.len() {
            if needs[i] as u8 == self.row.needs as u8 {
                return true;
            }
            i += 1;
        }
        false
    }
    const fn is_among(self, list: &[Scheme]) -> bool {
        let mut i = 0;
        while i < list.len() {
            if list[i].place == self.place {
                return true;
            }
            i += 1;
        }
        false
    }
    /// How many ask for one of these needs.
    pub(crate) const fn count(needs: &[Needs]) -> usize {
        let (mut n, mut i) = (0, 0);
        while i < Scheme::ALL.len() {
            n += Scheme::ALL[i].wanted(needs) as usize;
            i += 1;
        }
        n
    }
    /// Those, some of them first.
    pub(crate) const fn list<const N: usize>(needs: &[Needs], first: &[Scheme]) -> [Scheme; N] {
        let mut list = [Scheme::UndoArray; N];
        let (mut n, mut i) = (0, 0);
        while n < first.len() {
            list[n] = first[n];
            n += 1;
        }
        while i < Scheme::ALL.len() {
            let scheme = Scheme::ALL[i];
            if scheme.wanted(needs) && !scheme.is_among(first) {
                list[n] = scheme;
                n += 1;
            }
            i += 1;
        }
        list
    }
}

/// Schemes are told apart by their names.
impl PartialEq for Scheme {
    fn eq(&self, other: &Scheme) -> bool {
        self.name() == other.name()
    }
}
impl Eq for Scheme {}
impl Hash for Scheme {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}
impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[Scheme]) -> Vec<&'static str> {
        list.iter().map(|s| s.name()).collect()
    }
    #[test]
    fn lists_follow_from_the_rows() {
        let undo = ["undo-array", "undo-list", "library-array", "library-list"];
        assert_eq!(names(Scheme::LOGGED), [&undo[..], &["redo", "redo-block"]].concat());
        assert_eq!(names(Scheme::REDO_FIRST), [&["redo", "redo-block"][..], &undo].concat());
        assert_eq!(
            names(Scheme::WITH_REGIONS),
            [&undo[..], &["redo", "redo-block", "ido"]].concat()
        );
        assert_eq!(names(Scheme::ALL), Scheme::NAMES);
        let by_hand_first = schemes_for!(Stores | Orders, first Raw);
        assert_eq!(
            names(by_hand_first),
            [&["raw"][..], &undo, &["redo", "redo-block"]].concat()
        );
    }
    #[test]
    fn a_scheme_of_ones_own_is_served_where_its_needs_are() {
        static MINE: SchemeRow = SchemeRow {
            name: "mine",
            ..SchemeRow::UNDO
        };
        let mine = Scheme::of(&MINE);
        assert!(mine.is_served_by(Scheme::LOGGED) && !mine.is_served_by(&[Scheme::Raw]));
        assert!(!Scheme::Redo.is_served_by(&[Scheme::UndoArray]));
        assert!(Scheme::from_raw(&Raw::Text("mine".into())).is_err());
    }
}
