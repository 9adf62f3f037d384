//! What measurements say of the core of a machine file: how fences execute, and how many instructions a cycle.

use fencepost_native::{Calibration, Times};

/// Additions that a core may hold unretired behind a fence: reorder buffers of present cores are not larger.
const HELD: f64 = 512.0;

/// `buffered` where more additions behind a fence retire while it waits than a reorder buffer could hold; else `retire`; and the
/// measurement.
pub(super) fn fences(m: &Calibration) -> (&'static str, String) {
    let of = |over: &[(u32, Times)]| hidden(over, m.adds_per_ns);
    let (nt, flush) = (of(&m.fence_over), of(&m.flush_over));
    let (held, alone) = (HELD / m.adds_per_ns, nt.alone);
    let mode = match nt.hidden - held > 0.25 * alone {
        true => "buffered",
        false => "retire",
    };
    let why = format!(
        "{mode}: {:.0} ns of {} additions run behind movnti and sfence, which take {alone:.0} ns; {:.0} ns would fit a reorder buffer of \
         {HELD} ({:.0} ns of {} additions behind store, flush and sfence, which take {:.0} ns)",
        nt.hidden, nt.additions, held, flush.hidden, flush.additions, flush.alone
    );
    (mode, why)
}
/// How much of the time of additions a fence before them hides.
#[derive(Copy, Clone, Default)]
struct Hidden {
    additions: u32,
    /// Nanoseconds without additions.
    alone: f64,
    /// Nanoseconds by which both together are shorter than the sum.
    hidden: f64,
}
/// Where the most is hidden.
fn hidden(over: &[(u32, Times)], adds_per_ns: f64) -> Hidden {
    let alone = over.first().map_or(0.0, |f| f.1.min);
    let each = over.iter().filter(|f| f.0 > 0).map(|(additions, together)| Hidden {
        additions: *additions,
        alone,
        hidden: alone + f64::from(*additions) / adds_per_ns - together.min,
    });
    let none = Hidden {
        alone,
        ..Hidden::default()
    };
    each.fold(none, |best, h| if h.hidden > best.hidden { h } else { best })
}

/// Whether an access waits for a flush of its line: a load behind one takes half as long at least as store, flush and fence do.
pub(super) fn flush_holds(m: &Calibration) -> bool {
    m.flush_load.min - m.flush_stream.min > m.pair_hot.min / 2.0
}

/// Instructions a cycle: what is dispatched and what is computed between memory operations, and what says so of each.
pub(super) struct Width {
    /// Per cycle, and where it is from.
    pub dispatched: (f64, &'static str),
    /// The same of code between memory operations.
    pub computed: (f64, String),
}
/// What was measured says of them.
pub(super) fn width(m: &Calibration) -> Width {
    let additions = (m.adds_per_ns / m.ghz).round().max(1.0);
    let Some(ipc) = m.computing.ipc() else {
        return Width {
            dispatched: (additions, "measured: independent additions per cycle"),
            computed: (
                (additions / 2.0).ceil(),
                "ours: half of what independent additions reach (instructions could not be counted)".into(),
            ),
        };
    };
    let computed = ipc.round().max(1.0);
    // What is executed was dispatched: a core may have fewer adders than it dispatches instructions.
    let dispatched = match computed > additions {
        true => (computed, "measured: calls of a library that logs"),
        false => (additions, "measured: independent additions per cycle"),
    };
    let why = format!("measured: calls of a library that logs, {ipc:.2} a cycle where nothing waits for memory");
    Width {
        dispatched,
        computed: (computed, why),
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine_file::tests::{invented, ns};
    use super::*;
    use fencepost_native::Computing;

    #[test]
    fn what_a_core_computes_in_a_cycle_is_what_was_measured() {
        let with = |instructions| {
            let computing = Computing {
                instructions,
                time: ns(200.0),
                cycles: 500.0,
            };
            let w = width(&Calibration {
                computing,
                ..invented()
            });
            [w.dispatched.0, w.computed.0]
        };
        // 1550 instructions in 500 cycles are 3.1 a cycle; four additions are.
        assert_eq!(with(Some(1550.0)), [4.0, 3.0]);
        assert_eq!(with(Some(2400.0)), [5.0, 5.0], "what is executed was dispatched");
        assert_eq!(with(Some(40.0)), [4.0, 1.0]);
        assert_eq!(with(None), [4.0, 2.0], "half of what additions reach");
    }
    #[test]
    fn accesses_wait_for_flushes_where_a_load_behind_one_takes_as_long() {
        let with = |load: f64| {
            flush_holds(&Calibration {
                flush_load: ns(load),
                ..invented()
            })
        };
        // Store, flush and fence take 150 ns, store and flush of a stream 7.
        assert_eq!([8.0, 81.0, 83.0, 160.0].map(with), [false, false, true, true]);
    }
    #[test]
    fn fences_are_buffered_only_where_additions_run_behind_them() {
        let with = |over: &[(u32, f64)]| {
            fences(&Calibration {
                fence_over: over.iter().map(|(n, t)| (*n, ns(*t))).collect(),
                ..invented()
            })
            .0
        };
        // 1024 additions take 102 ns by themselves; a reorder buffer hides at most 51 ns of them.
        assert_eq!(with(&[(0, 100.0), (1024, 105.0)]), "buffered");
        assert_eq!(with(&[(0, 100.0), (1024, 150.0)]), "retire");
        assert_eq!(with(&[(0, 100.0), (1024, 200.0)]), "retire");
        // Where the additions take longer than the fence, all of the fence is hidden.
        assert_eq!(with(&[(0, 100.0), (4096, 412.0)]), "buffered");
        assert_eq!(with(&[(0, 100.0), (4096, 470.0)]), "retire");
    }
}
