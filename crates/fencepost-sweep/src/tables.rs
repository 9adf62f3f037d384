//! Results as tables. A change of meaning of a column raises the version of its schema; `docs/results.md` lists them.

pub use fencepost_kernel::PersistLog;
use fencepost_run::outcome::stall_causes;
use fencepost_run::result::RunResult;
use fencepost_table::{Builder, Field, Row, Table};
use std::sync::LazyLock;

/// Version of the schemas below.
pub const VERSION: u32 = 1;

/// Gathered once: every design is asked.
static STALL_CAUSES: LazyLock<Vec<&'static str>> = LazyLock::new(stall_causes);

/// A field with its unit and what it is.
pub(crate) const fn field<'a>(name: &'a str, unit: &'static str, about: &'a str) -> Field<'a> {
    Field { name, unit, about }
}

/// Schema `fencepost-runs`: a row for each run.
pub fn runs<'a>(results: impl IntoIterator<Item = &'a RunResult>) -> Table {
    let mut b = Builder::new("fencepost-runs", VERSION);
    for r in results {
        run(&mut b.row(), Some(r));
    }
    b.finish()
}

/// Adds the columns of a run; without one they are empty.
pub(crate) fn run(row: &mut Row<'_>, r: Option<&RunResult>) {
    let text = |get: fn(&RunResult) -> &str| r.map(get);
    row.maybe(field("run_program", "", "program"), text(|r| &r.program))
        .maybe(field("run_design", "", "design"), text(|r| &r.design))
        .maybe(
            field("run_machine", "", "machine: preset or file"),
            text(|r| &r.machine),
        )
        .maybe(field("run_media", "", "medium: preset or file"), text(|r| &r.media))
        .maybe(
            field("run_threads", "threads", "software threads"),
            r.map(|r| r.threads),
        )
        .maybe(field("run_seed", "", "seed of every random stream"), r.map(|r| r.seed))
        .maybe(
            field("config_digest", "", "digest of the resolved configuration"),
            text(|r| &r.config_digest),
        );
    measures(row, r);
    row.maybe(
        field("log_digest", "", "digest of the persist log"),
        text(|r| &r.log_digest),
    );
    for cause in STALL_CAUSES.iter().copied() {
        let name = format!("stall_{}_ps", cause.replace('-', "_"));
        let about = format!("time in which threads could not commit because of {cause}, summed over threads");
        let ps = r.map(|r| r.stalls.get(cause).copied().unwrap_or(0));
        row.maybe(field(&name, "ps", &about), ps);
    }
    checked(row, r);
    row.maybe(
        field("warning", "", "the design keeps no promise here"),
        r.and_then(|r| r.warning.as_deref()),
    )
    .maybe(
        field("note", "", "what was asked for and has no effect"),
        r.and_then(|r| r.note.as_deref()),
    );
}

fn measures(row: &mut Row<'_>, r: Option<&RunResult>) {
    row.maybe(
        field("operations", "operations", "measured operations of all threads"),
        r.map(|r| r.ops),
    )
    .maybe(
        field("time_ps", "ps", "from the end of warm-up to the last thread's finish"),
        r.map(|r| r.time_ps),
    )
    .maybe(
        field("instructions", "instructions", "committed by all threads"),
        r.map(|r| r.instructions),
    )
    .maybe(
        field("ipc", "instructions/cycle", "instructions per cycle and core"),
        r.map(|r| r.ipc),
    )
    .maybe(
        field("ops_per_s", "operations/s", "operations per simulated second"),
        r.map(|r| r.ops_per_s),
    )
    .maybe(
        field("busy_ps", "ps", "time in which threads committed, summed over threads"),
        r.map(|r| r.busy_ps),
    )
    .maybe(
        field("pm_reads", "lines", "read from persistent memory"),
        r.map(|r| r.pm_reads),
    )
    .maybe(
        field("pm_writes", "lines", "written to persistent memory"),
        r.map(|r| r.pm_writes),
    )
    .maybe(
        field(
            "durable_events",
            "events",
            "durable events of the whole run, warm-up included",
        ),
        r.map(|r| r.durable_events),
    );
}

fn checked(row: &mut Row<'_>, r: Option<&RunResult>) {
    let check = r.and_then(|r| r.check.as_ref());
    row.maybe(
        field("check_points", "points", "crash points examined"),
        check.map(|c| c.points),
    )
    .maybe(
        field("check_points_total", "points", "crash points that exist"),
        check.map(|c| c.points_total),
    )
    .maybe(
        field("check_violations", "", "failures found, the search ends at the first"),
        check.map(|c| c.violations),
    )
    .maybe(
        field("check_conforms", "", "whether the contract allows the persist order"),
        check.and_then(|c| c.conforms),
    )
    .maybe(
        field("check_contract", "", "contract"),
        check.and_then(|c| c.contract.as_deref()),
    )
    .maybe(
        field(
            "check_verdict",
            "",
            "clean, violated, or expected: violated where no promise is kept",
        ),
        check.map(|c| match (c.violated(), c.as_expected()) {
            (false, _) => "clean",
            (true, true) => "expected",
            (true, false) => "violated",
        }),
    );
}

/// Schema `fencepost-stalls`: the time of all threads of each run, by what it went into. The shares of a run add up to its threads' time.
pub fn stalls<'a>(results: impl IntoIterator<Item = &'a RunResult>) -> Table {
    let mut b = Builder::new("fencepost-stalls", VERSION);
    for r in results {
        let busy = ("busy".to_owned(), r.busy_ps);
        for (cause, ps) in [busy].into_iter().chain(r.stalls.clone()) {
            let row = &mut b.row();
            of(row, r);
            row.set(field("cause", "", "busy, or why threads could not commit"), &cause)
                .set(field("time_ps", "ps", "summed over threads"), ps);
        }
    }
    b.finish()
}

/// Schema `fencepost-counters`: counters of the machine and of the design.
pub fn counters<'a>(results: impl IntoIterator<Item = &'a RunResult>) -> Table {
    let mut b = Builder::new("fencepost-counters", VERSION);
    for r in results {
        for (name, value) in &r.counters {
            let row = &mut b.row();
            of(row, r);
            row.set(field("counter", "", "name, as in docs/stats.md"), name)
                .set(field("value", "", "in the unit of the counter"), *value);
        }
    }
    b.finish()
}

/// Schema `fencepost-histograms`: how often each value was seen.
pub fn histograms<'a>(results: impl IntoIterator<Item = &'a RunResult>) -> Table {
    let mut b = Builder::new("fencepost-histograms", VERSION);
    for r in results {
        for (name, h) in &r.histograms {
            for (value, samples) in &h.values {
                let row = &mut b.row();
                of(row, r);
                row.set(field("histogram", "", "name"), name)
                    .set(field("unit", "", "of the values"), &h.unit)
                    .set(field("value", "", "value seen, in that unit"), *value)
                    .set(field("samples", "samples", "how often"), *samples);
            }
        }
    }
    b.finish()
}

/// Schema `fencepost-persist-log`: every durable event of a recorded run, in order.
pub fn persist_log(log: &PersistLog) -> Table {
    let mut b = Builder::new("fencepost-persist-log", VERSION);
    for (i, r) in log.records().iter().enumerate() {
        let bytes = r.data.words.iter().flat_map(|w| w.to_le_bytes());
        let bytes: String = bytes.map(|b| format!("{b:02x}")).collect();
        let cause = format!("{:?}", r.cause).to_lowercase();
        b.row()
            .set(field("event", "events", "number of durable events before it"), i as u64)
            .set(field("time_ps", "ps", "when the line became durable"), r.time.0)
            .set(field("address", "bytes", "of the line's first byte"), r.line.base().0)
            .set(field("cause", "", "why the line was written"), cause.as_str())
            .set(
                field("bytes", "", "the 64 bytes of the line from then on, in hexadecimal"),
                bytes.as_str(),
            );
    }
    b.finish()
}

fn of(row: &mut Row<'_>, r: &RunResult) {
    row.set(
        field("config_digest", "", "digest of the run's resolved configuration"),
        &r.config_digest,
    )
    .set(field("run_program", "", "program"), &r.program)
    .set(field("run_design", "", "design"), &r.design);
}
