//! Declared counters and histograms: name, unit and one sentence stand in one place, and so does the index.
//!
//! [`stats!`](crate::stats!) makes a list that tables and the reference pages print, and a constant index for each entry, with
//! which hot code counts into a plain array.

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
