//! The programs of the WHISPER suite beside what was published of it.
//!
//! The suite's figures are of whole applications (*An Analysis of Persistent Memory Use with WHISPER*, ASPLOS 2017): most of their stores
//! are the applications' volatile work. The programs here are the transactions of those applications, alone or with what the application
//! does around them ([`Front`]); what differs is shown, not tuned away.

use fencepost_run::LabError;
use fencepost_run::persist_stats::Beside;
use fencepost_run::request::Request;
use serde::Serialize;

use fencepost_programs::Front;
pub use fencepost_programs::WHISPER as PROGRAMS;

/// One program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Its name.
    pub program: String,
    /// What it does around its transactions; `None` where it knows no choice.
    pub front: Option<&'static str>,
    /// Operations that were counted.
    pub operations: u64,
    /// Stores to either memory.
    pub stores: u64,
    /// Its figures; none where nothing was persisted.
    pub figures: Vec<Beside>,
}

/// Runs each program as the request says, recorded, and counts how it persists: its transactions alone, then, where it has a front,
/// with the application's work around them.
///
/// # Errors
/// A design or machine that there is not, or a request that cannot be run.
pub fn whisper(request: &Request) -> Result<Vec<Line>, LabError> {
    let all = fencepost_programs::programs();
    let has_front = |p: &str| {
        all.iter()
            .any(|a| a.name == p && a.fields.iter().any(|f| f.name == "front"))
    };
    let fronts = |p: &'static str| match has_front(p) {
        true => [Front::None, Front::Application].map(Some).to_vec(),
        false => vec![None],
    };
    let lines = PROGRAMS.iter().flat_map(|p| fronts(p).into_iter().map(move |f| (p, f)));
    lines.map(|(p, front)| counted(request, p, front)).collect()
}

fn counted(request: &Request, program: &str, front: Option<Front>) -> Result<Line, LabError> {
    let front = front.map(|f| f.name());
    let set = front.map(|f| format!("program.{program}.front={f}"));
    let run = fencepost_run::run::run(&Request {
        program: program.into(),
        sets: request.sets.iter().cloned().chain(set).collect(),
        // Only recorded runs are counted; how they recover is the matter of other commands.
        check: true,
        budget: Some(1),
        warmup: 0,
        ..request.clone()
    })?;
    let persists = run.persists.unwrap_or_default();
    Ok(Line {
        program: program.into(),
        front,
        operations: run.ops,
        stores: persists.stores,
        figures: persists.beside_whisper(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(ops: u32) -> Request {
        Request {
            design: "x86-adr".into(),
            machine: "themis".into(),
            threads: Some(2),
            ops,
            ..Request::default()
        }
    }
    #[test]
    fn every_program_has_every_figure() {
        let lines = whisper(&request(60)).unwrap_or_else(|e| panic!("{e}"));
        let of = |front: &[Option<&str>]| lines.iter().filter(|l| front.contains(&l.front)).collect::<Vec<_>>();
        let names = |lines: &[&Line]| lines.iter().map(|l| l.program.clone()).collect::<Vec<_>>();
        assert_eq!(names(&of(&[None, Some("none")])), PROGRAMS);
        let (without, with) = (of(&[Some("none")]), of(&[Some("application")]));
        assert_eq!((names(&with).len(), names(&without)), (8, names(&with)));
        for (a, b) in without.iter().zip(&with) {
            // The same stores persist, among more.
            assert!(
                b.stores > a.stores && b.figures[0].here < a.figures[0].here,
                "{}",
                a.program
            );
            assert_eq!(a.figures[1], b.figures[1], "{}", a.program);
        }
        for l in &lines {
            assert_eq!((l.figures.len(), l.operations), (5, 120), "{}", l.program);
            let share = l.figures[0].here;
            assert!(share > 0.0 && share <= 100.0, "{}: {share}", l.program);
        }
    }
    /// GETs that move nothing store nothing to persistent memory.
    #[test]
    fn a_program_that_persists_nothing_has_no_figures() {
        let only_gets = ["program.memcached.set_percent=0", "program.memcached.bump_percent=0"];
        let request = Request {
            sets: only_gets.map(str::to_owned).to_vec(),
            ..request(5)
        };
        let line = counted(&request, "memcached", None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((line.operations, line.figures.len()), (10, 0));
    }
}
