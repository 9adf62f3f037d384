//! Planted faults: switches that break one rule of the code on purpose, so that a test can show that the break is noticed.
//!
//! A fault is planted where the rule is kept, at a decision that has a name: in the initialiser of a `let`, or as what a small function
//! returns. A test of `xtask` holds that everywhere. The condition of the rule comes first, so that the line is reached only where the fault acts:
//!
//! ```
//! # let dirty = true;
//! let answered = dirty && !fencepost_kernel::planted!("hierarchy.snoop-unanswered", "a dirty copy answers every snoop");
//! if answered {
//!     // answer
//! }
//! ```
//!
//! The name is `place.what-goes-wrong`; the second text is the rule that the fault breaks. Both are literals, so that
//! `xtask faults` lists every planted fault with its file and line from the sources; its tests make sure that no name is used for
//! two rules and that every name occurs in a test or in a design's declaration. The macro may stand in the kernel, the machine,
//! the designs, the programs, the checker, runs, papers and the server of native clients. The same name may be planted at several places that keep the same rule.
//!
//! **Cost.** In a release build without the feature `faults` the macro is the constant `false`, and nothing of it remains in the
//! code. In test and debug builds, and with the feature (`--features faults` of `fencepost`, `fencepost-run` or `xtask`), it is
//! one load of a process-wide flag while no fault is on.
//!
//! **Switching on.** [`with`] turns faults on for the calling thread while a closure runs, and says whether a planted line was
//! reached at all: a fault that is never asked about proves nothing. Tests that run side by side do not disturb each other. The
//! environment variable `FENCEPOST_FAULT=NAME[,NAME]` turns them on for the whole process, for a look at one fault by hand: the
//! command refuses names that do not exist ([`check`]) and any in a build without faults, and says which never acted ([`idle`]). A
//! thread pool hands the faults of the caller on: take [`current`] before the threads start, and [`Faults::enter`] it in each.
//!
//! **Decisions.** Where the code decides something that only some rare state brings about, `decision!("place.what", condition)` is
//! that condition under a name. [`counted`] says how often each was taken and how often not, and how often each planted line was
//! reached: a net that never takes a decision proves nothing about what follows it. Like planted lines decisions cost nothing in
//! releases.
//!
//! What a user may choose stays a parameter: a design whose semantic claims are checked in releases by breaking a rule keeps
//! its `fault` parameter, and declares both in its list of faults.

mod counted;
mod requested;

pub use counted::{Sides, decisions};
pub use requested::{ENABLED, Refused, VARIABLE, names};
use requested::{Requested, from_environment};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many threads, and whether the process, have faults on; `UNREAD` until the environment was looked at.
static ACTIVE: AtomicUsize = AtomicUsize::new(UNREAD);
const UNREAD: usize = usize::MAX / 2;

/// The faults of the environment, on in every thread.
static PROCESS: LazyLock<Vec<Requested>> = LazyLock::new(|| {
    let asked = from_environment();
    // Guards look first too, so nothing else has been counted yet.
    ACTIVE.fetch_sub(UNREAD - usize::from(!asked.is_empty()), Ordering::Relaxed);
    asked
});

/// Whether other processes have the faults of the environment too.
static ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// Whether the faults that the environment asks for can be had.
///
/// # Errors
/// The first that cannot.
pub fn check() -> Result<(), Refused> {
    requested::check(PROCESS.iter().map(|r| &*r.name), ENABLED)
}

/// The faults of the environment on which no planted line of this process has acted: what was done without them says nothing about
/// them. Empty when they may have acted in another process ([`on_elsewhere`]).
pub fn idle() -> Vec<&'static str> {
    let idle = PROCESS
        .iter()
        .filter(|r| !r.acted() && !ELSEWHERE.load(Ordering::Relaxed));
    idle.map(|r| &*r.name).collect()
}

/// This process starts others of the same build, in which the faults of the environment are on as well.
pub fn on_elsewhere() {
    ELSEWHERE.store(true, Ordering::Relaxed);
}

thread_local! {
    static THREAD: RefCell<Vec<Planted>> = const { RefCell::new(Vec::new()) };
    static ASKED: RefCell<Option<BTreeMap<&'static str, &'static str>>> = const { RefCell::new(None) };
}

struct Planted {
    name: String,
    reached: bool,
}

/// Whether the fault with this name is on in the calling thread. Use [`planted!`](crate::planted!), which also lists the fault.
#[inline]
pub fn on(name: &'static str, breaks: &'static str) -> bool {
    ENABLED && ACTIVE.load(Ordering::Relaxed) != 0 && look(name, breaks)
}

#[cold]
fn look(name: &'static str, breaks: &'static str) -> bool {
    ASKED.with_borrow_mut(|asked| asked.as_mut().map(|a| a.insert(name, breaks)));
    counted::count(name, true);
    let everywhere = PROCESS.iter().find(|r| r.name == name);
    everywhere.inspect(|r| r.acts());
    THREAD.with_borrow_mut(|faults| {
        let here = faults.iter_mut().rev().find(|f| f.name == name);
        here.map(|f| f.reached = true).is_some() || everywhere.is_some()
    })
}

/// Faults that are on, to be handed to another thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<String>);

/// The faults that [`with`] and [`Faults::enter`] turned on in the calling thread.
pub fn current() -> Faults {
    THREAD.with_borrow(|faults| Faults(faults.iter().map(|f| f.name.clone()).collect()))
}

impl Faults {
    /// The faults with these names.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Faults {
        Faults(names.into_iter().map(str::to_owned).collect())
    }
    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.0
    }
    /// Turns them on in the calling thread until the guard is dropped.
    #[must_use = "the faults are on while the guard lives"]
    pub fn enter(&self) -> Guard {
        LazyLock::force(&PROCESS);
        ACTIVE.fetch_add(1, Ordering::Relaxed);
        THREAD.with_borrow_mut(|faults| {
            let before = faults.len();
            let planted = |name: &String| Planted {
                name: name.clone(),
                reached: false,
            };
            faults.extend(self.0.iter().map(planted));
            Guard {
                before,
                _not_send: std::marker::PhantomData,
            }
        })
    }
}

/// Keeps faults on in the thread that made it. Guards are dropped in the opposite order of their making.
#[derive(Debug)]
pub struct Guard {
    before: usize,
    _not_send: std::marker::PhantomData<*const ()>,
}
impl Guard {
    /// Whether a planted line of one of this guard's faults was reached by this thread.
    pub fn reached(&self) -> bool {
        THREAD.with_borrow(|faults| faults[self.before..].iter().any(|f| f.reached))
    }
}
impl Drop for Guard {
    fn drop(&mut self) {
        THREAD.with_borrow_mut(|faults| faults.truncate(self.before));
        ACTIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `f` with one fault on in this thread, and says whether its planted line was reached there.
pub fn with<R>(name: &str, f: impl FnOnce() -> R) -> (R, bool) {
    let guard = Faults::named([name]).enter();
    let result = f();
    (result, guard.reached())
}

/// Runs `f`, and says which planted lines this thread reached meanwhile: a fault that is not among them cannot change what `f` does.
pub fn asked<R>(f: impl FnOnce() -> R) -> (R, BTreeSet<&'static str>) {
    let (result, rules) = rules_asked(f);
    (result, rules.into_keys().collect())
}

/// The same with the rule that each of them breaks.
pub fn rules_asked<R>(f: impl FnOnce() -> R) -> (R, BTreeMap<&'static str, &'static str>) {
    // Without a name, but it makes every planted line look.
    let guard = Faults::default().enter();
    let before = ASKED.with_borrow_mut(|asked| asked.replace(BTreeMap::new()));
    let result = f();
    drop(guard);
    let names = ASKED.with_borrow_mut(|asked| std::mem::replace(asked, before));
    (result, names.unwrap_or_default())
}

/// Counts a decision; use [`decision!`](crate::decision!).
#[inline]
pub fn decided(name: &'static str, taken: bool) -> bool {
    if ACTIVE.load(Ordering::Relaxed) != 0 {
        counted::count(name, taken);
    }
    taken
}

/// Runs `f`, and says what this thread decided meanwhile.
pub fn counted<R>(f: impl FnOnce() -> R) -> (R, BTreeMap<&'static str, Sides>) {
    // Without a name, but it makes every planted line and every decision look.
    let guard = Faults::default().enter();
    let before = counted::exchange(Some(BTreeMap::new()));
    let result = f();
    drop(guard);
    let counts = counted::exchange(before);
    (result, counts.unwrap_or_default())
}

/// Whether the fault with this name is on: `planted!("place.what-goes-wrong", "the rule that it breaks")`. See [`mod@crate::fault`].
#[macro_export]
macro_rules! planted {
    ($name:literal, $breaks:literal $(,)?) => {
        $crate::fault::ENABLED && $crate::fault::on($name, $breaks)
    };
}

/// The condition, which a run may count: `decision!("place.what", condition)`. See [`mod@crate::fault`].
#[macro_export]
macro_rules! decision {
    ($name:literal, $condition:expr $(,)?) => {
        match $condition {
            taken => ($crate::fault::ENABLED && $crate::fault::decided($name, taken)) || taken,
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> bool {
        crate::planted!("kernel.example", "an example of a rule that is broken on purpose")
    }

    #[test]
    fn a_fault_is_on_while_its_closure_runs_and_in_its_thread_only() {
        assert!(!broken());
        let (seen, reached) = with("kernel.example", || {
            let elsewhere = std::thread::spawn(broken).join().expect("no panic");
            (broken(), elsewhere)
        });
        assert_eq!((seen, reached), ((true, false), true));
        assert!(!broken());
    }

    #[test]
    fn a_fault_that_no_line_asks_about_is_reported_as_not_reached() {
        assert_eq!(with("kernel.no-such-fault", broken), (false, false));
    }

    #[test]
    fn the_lines_that_were_reached_are_named() {
        let ((), names) = asked(|| assert!(!broken()));
        assert_eq!(Vec::from_iter(names), ["kernel.example"]);
        assert!(asked(|| ()).1.is_empty());
    }

    #[test]
    fn both_sides_of_a_decision_are_counted_while_somebody_counts() {
        let positive = |n: i32| crate::decision!("kernel.example-decision", n > 0);
        assert!(positive(1) && !positive(0));
        let (taken, counts) = counted(|| [1, 2, -1].map(positive));
        assert_eq!(taken, [true, true, false]);
        assert_eq!(counts["kernel.example-decision"], [1, 2]);
        assert_eq!(counted(broken).1["kernel.example"], [0, 1]);
        assert!(counted(|| ()).1.is_empty());
    }

    #[test]
    fn faults_are_handed_to_other_threads() {
        let (seen, _) = with("kernel.example", || {
            let faults = current();
            let work = move || {
                let guard = faults.enter();
                (broken(), guard.reached())
            };
            std::thread::spawn(work).join().expect("no panic")
        });
        assert_eq!(seen, (true, true));
    }

    #[test]
    fn a_panic_switches_the_fault_off() {
        let panics = || with("kernel.example", || panic!("on purpose"));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert!(!broken());
    }
}
