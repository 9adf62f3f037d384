//! Declared counters and histograms: name, unit and one sentence stand in one place, and so does the index.
//!
//! [`stats!`](crate::stats!) makes a list that tables and the reference pages print, and a constant index for each entry, with
//! which hot code counts into a plain array.

use crate::Fence;

/// A declared counter or histogram.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct StatInfo {
    /// Name, as reports print it.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

/// What a counter can be held to: something that a run leaves behind, counted without the design.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: it stays 0.
    Zero,
    /// Another counter of the same design, by its index.
    Counter(usize),
    /// Lines that went into persist buffers, of the account.
    Entries,
    /// Barriers that went into persist buffers, of the account.
    Barriers,
    /// Writes that persistent memory sent to the medium, of the account.
    Issued,
    /// Writes that persistent memory accepted, of the account.
    Accepted,
    /// Stores of programs to persistent memory that performed, non-temporal ones among them.
    Stores,
    /// Non-temporal stores of programs to persistent memory.
    NtStores,
    /// Fences of these kinds that completed.
    Fences(&'static [Fence]),
    /// Commits of write sub-queues that completed.
    QueueCommits,
    /// Ranges that were bound to the default queue.
    Unbound,
    /// Hardware transactions that committed.
    Commits,
    /// Hardware transactions that were aborted.
    Aborts,
}

/// What counters of a design must add up to over a whole run, for judges that know no design.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The counters, by index.
    pub counters: &'static [usize],
    /// Histograms whose samples are counted with them, by index.
    pub samples: &'static [usize],
    /// Whether there may be less.
    pub at_most: bool,
    /// What they add up to.
    pub to: Seen,
}
impl Sum {
    /// These counters add up to that.
    pub const fn of(counters: &'static [usize], to: Seen) -> Sum {
        Sum {
            counters,
            samples: &[],
            at_most: false,
            to,
        }
    }
    /// These counters add up to no more than that.
    pub const fn at_most(counters: &'static [usize], to: Seen) -> Sum {
        Sum {
            at_most: true,
            ..Sum::of(counters, to)
        }
    }
    /// So many samples are in these histograms.
    pub const fn samples(samples: &'static [usize], to: Seen) -> Sum {
        Sum {
            samples,
            ..Sum::of(&[], to)
        }
    }
}

/// The index of the entry with this name. For [`stats!`](crate::stats!), which evaluates it while compiling.
///
/// # Panics
/// If there is no such entry.
pub const fn index_of(list: &[StatInfo], name: &str) -> usize {
    let mut i = 0;
    while i < list.len() {
        if same(list[i].name.as_bytes(), name.as_bytes()) {
            return i;
        }
        i += 1;
    }
    panic!("no entry has this name")
}
const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    a.len() == b.len() && i == a.len()
}

/// Declares a list of counters or histograms: the list, and a constant index for each entry.
///
/// ```
/// fencepost_kernel::stats! {
///     /// Counters of an example.
///     pub COUNTERS {
///         /// Lines that left.
///         LEFT = "lines_left", "lines";
///         /// Those that waited first.
///         WAITED = "lines_waited", "lines";
///     }
/// }
/// assert_eq!(COUNTERS[WAITED].name, "lines_waited");
/// assert_eq!(COUNTERS[LEFT].doc, "Lines that left.");
/// ```
#[macro_export]
macro_rules! stats {
    ($(#[$meta:meta])* $vis:vis $list:ident { $($(#[doc = $doc:expr])* $index:ident = $name:literal, $unit:literal;)* }) => {
        $(#[$meta])*
        $vis const $list: &[$crate::stats::StatInfo] = &[$($crate::stats::StatInfo {
            name: $name,
            unit: $unit,
            doc: concat!($($doc),*).trim_ascii(),
        }),*];
        $($(#[doc = $doc])* $vis const $index: usize = $crate::stats::index_of($list, $name);)*
    };
}
