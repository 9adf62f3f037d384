//! `native --calibrate` and `native --compare`: a machine file of this machine, and how well it does.

use crate::exit::CLEAN;
use crate::layout::table;
use crate::native_args::NativeRun;
use crate::output::Out;
use fencepost_papers::native::{
    CLOSE, Calibrated, Comparison, FlushWith, NativeRequest, SideBySide, Times, calibrate, side_by_side,
};
use fencepost_run::LabError;
use fencepost_run::short;
use std::fmt::Write as _;
use std::path::Path;

/// The programs that are compared where none is named.
pub(super) const PROGRAMS: &[&str] = &["sps", "hash", "cq"];

/// Measures this machine and writes its file.
pub(super) fn calibrated(file: &Path, without: &[FlushWith], out: &Out) -> Result<u8, LabError> {
    let found = calibrate(file, without)?;
    out.document(&found, || calibrated_text(&found))?;
    Ok(CLEAN)
}

/// Sets programs natively and simulated side by side.
pub(super) fn compared(
    programs: &[impl AsRef<str>],
    run: &NativeRun,
    machine: &str,
    out: &Out,
) -> Result<u8, LabError> {
    let requests: Vec<NativeRequest> = programs.iter().map(|p| run.request(p.as_ref())).collect();
    let found = side_by_side(&requests, machine)?;
    out.document(&found, || compared_text(&found))?;
    Ok(CLEAN)
}

fn compared_text(c: &Comparison) -> String {
    let all = || c.programs.iter().chain([&c.logged_stores]);
    let row = |s: &SideBySide| {
        let numbers = [&s.native, &s.simulated].map(|c| [c.baseline_ns, c.ideal_ns, c.gain].map(short));
        let name = [s.program.clone()];
        let last = [percent(s.difference)];
        [&name[..], &numbers[0], &numbers[1], &last].concat()
    };
    let head = [
        "",
        "native baseline",
        "ideal",
        "gain",
        "simulated baseline",
        "ideal",
        "gain",
        "difference",
    ];
    let mut t = format!(
        "{}: nanoseconds per operation, {} thread{}; gain is baseline over ideal\n",
        c.machine,
        c.threads,
        if c.threads == 1 { "" } else { "s" }
    );
    t += &table(&head, &all().map(row).collect::<Vec<_>>());
    let why = |s: &SideBySide| {
        vec![
            s.program.clone(),
            short(s.fences),
            short(s.native.fence_ns),
            short(s.simulated.fence_ns),
            percent(s.of_the_fences),
            percent(s.of_the_rest),
        ]
    };
    t += "\nWhere a difference comes from: the fences that `ideal` leaves out, and the rest of an operation\n";
    let head = [
        "",
        "fences",
        "native ns each",
        "simulated ns each",
        "if only they differed",
        "if only the rest did",
    ];
    t += &table(&head, &all().map(why).collect::<Vec<_>>());
    for s in c.programs.iter().filter(|s| !s.is_close()) {
        let _ = writeln!(t, "{}", explained(s, &c.logged_stores));
    }
    t
}

/// What the measurements say of a program whose gains are further apart.
fn explained(s: &SideBySide, bare: &SideBySide) -> String {
    let by_fences = s.of_the_fences.abs() >= s.of_the_rest.abs();
    let cause = match by_fences {
        true => format!(
            "a fence between log and data takes {} ns natively and {} simulated; in a loop of logged stores without a program, {} and {}",
            short(s.native.fence_ns),
            short(s.simulated.fence_ns),
            short(bare.native.fence_ns),
            short(bare.simulated.fence_ns)
        ),
        false => format!(
            "what else an operation does takes {} ns natively and {} simulated",
            short(s.native.ideal_ns),
            short(s.simulated.ideal_ns)
        ),
    };
    format!(
        "{}: {} is more than {:.0} %: {cause}",
        s.program,
        percent(s.difference),
        CLOSE * 100.0
    )
}

fn percent(part: f64) -> String {
    format!("{:+.0} %", part * 100.0)
}

fn calibrated_text(c: &Calibrated) -> String {
    let m = &c.measured;
    let mut t = format!(
        "{}, {}, {} cores, {} GHz, {} independent additions per ns\n{} batches, {} in which the thread was switched out do not count\n",
        m.cpu,
        m.flush_instruction,
        m.cores,
        short(m.ghz),
        short(m.adds_per_ns),
        m.batches,
        m.disturbed
    );
    let mut rows = Vec::new();
    let mut row = |name: String, t: &Times| rows.push(vec![name, short(t.min), short(t.median)]);
    for (i, (bytes, ways, load)) in m.caches.iter().enumerate() {
        let name = format!("load: data cache {}, {} KiB, {ways} ways", i + 1, bytes >> 10);
        row(name, load);
    }
    for (name, times) in [
        ("load from memory", &m.memory_load),
        ("sfence alone", &m.fence),
        ("store, flush, sfence: one line", &m.pair_hot),
        ("store, flush, sfence: random lines", &m.pair_random),
        ("store, flush: a stream of lines", &m.flush_stream),
        ("store, flush, load: one line of a stream", &m.flush_load),
        ("load, flush of the clean line, sfence", &m.flush_clean),
        ("movnti, sfence", &m.nt_fence),
        ("8 movnti of a line, sfence", &m.nt_line_fence),
        ("8 movnti of a line: a stream", &m.nt_stream),
        ("movnti in a stream of records", &m.nt_record),
        ("lock and unlock", &m.lock),
        ("16 logged stores, a fence each", &m.transaction[0]),
        ("16 logged stores without them", &m.transaction[1]),
        ("16 stores logged by a library, nothing persists", &m.computing.time),
    ] {
        row(name.to_owned(), times);
    }
    for (what, over) in [("movnti", &m.fence_over), ("store, flush", &m.flush_over)] {
        for (n, times) in over {
            row(format!("{what}, sfence, {n} additions behind it"), times);
        }
    }
    t += &table(&["", "fastest ns", "median ns"], &rows);
    let simulated: Vec<Vec<String>> = c
        .simulates
        .iter()
        .map(|s| {
            let off = percent(s.simulated / s.measured - 1.0);
            vec![s.what.to_owned(), short(s.measured), short(s.simulated), off]
        })
        .collect();
    t += "\nOn the file\n";
    t += &table(&["", "measured ns", "simulated ns", "difference"], &simulated);
    let _ = writeln!(t, "fences: {}\nwritten: {}", c.fences, c.file.display());
    t
}
