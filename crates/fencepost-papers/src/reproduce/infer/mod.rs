//! From a paper's published figures, which unstated inputs are consistent with them.
//!
//! Every open input of a paper has declared readings. A joint reading takes one of each. A directed search (`search`) looks for
//! those that meet the most measured claims, for every claim on its own, and for pairs of claims together; `judge` simulates them,
//! sharing runs by content; `findings` says what the tried ones have in common. What comes out is never a reproduction: the
//! primaries are that, and their column stands first.
//!
//! How far an inference can be trusted is measured too: the claims are cut in two halves (by fixed splits), inputs are inferred from
//! one half alone, by a search that never sees the other, and the other half is predicted with them.

mod archive;
mod audit;
mod findings;
mod judge;
mod outcome;
mod page;
mod search;
mod space;
mod subject;

pub use audit::{Moved, Stated, audit};
pub use judge::Ahead;
pub use outcome::{HeldOut, Inference, Joint, Line, NeedLine};
pub use page::page;
pub use subject::Options;

use crate::experiment::best;
use crate::experiment::engine::Step;
use crate::experiment::readings::Choice;
use crate::experiment::runs::Cell;
use crate::experiment::spec::Scale;
use archive::{Archive, Judged};
use fencepost_run::LabError;
use fencepost_run::store::Store;
use search::{Length, Search, TRIED};
use space::Taken;
use subject::Subject;

/// Infers; `told` hears how many joint readings have been tried, and what is looked for.
pub fn infer(
    o: &Options<'_>,
    told: &dyn Fn(usize, &str),
    progress: &(dyn Fn(&Cell, Step) + Sync),
) -> Result<Inference, LabError> {
    let subject = Subject::read(o.paper)?;
    let weighted = subject.weighted(o.first)?;
    let primaries = Choice::primaries(&subject.readings).taken;
    let from = o.from.iter().map(|text| subject.joint(text));
    let from: Vec<Taken> = from.collect::<Result<_, _>>()?;
    let mut simulation = subject.simulation(o, (&subject.headline, Scale::Quick), progress);
    simulation.begin(&primaries, Length::Whole)?;
    let mut judge = |all: &[Taken], length: Length| simulation.judge(all, length);
    let mut search = Search::new(&subject.space, o.seed, 2 * o.jobs, &mut judge);
    // The held-out check has its share: without it, what is found could not be judged.
    let held = if o.splits == 0 { 0 } else { o.tries * 3 / 10 };
    let tries = o.tries - held;
    broad(&mut search, &primaries, (&weighted, tries / 4), told)?;
    search.try_all(from)?;
    guided(
        &mut search,
        (&weighted, subject.headline.len(), tries - tries / 4),
        told,
    )?;
    let (mut archive, mut impossible, mut in_part) = (search.archive, search.impossible.len(), search.in_part);
    let mut judged = search.judged;
    let each = held / o.splits.max(1);
    let mut held_out = Vec::new();
    for split in 0..o.splits as u64 {
        told(judged.len(), "what half of the claims predicts");
        let ids: Vec<&str> = subject.headline.iter().map(|c| c.id.as_str()).collect();
        let [seen, hidden] = findings::halves(&ids, split);
        let mut judge = |all: &[Taken], length: Length| simulation.judge(all, length);
        let mut search = Search::new(&subject.space, o.seed + 1 + split, 2 * o.jobs, &mut judge);
        broad(&mut search, &primaries, (&seen, each / 2), &|_, _| {})?;
        search.towards(&seen, each - each / 2)?;
        held_out.push(HeldOut::of(&search.archive, &primaries, &seen, &hidden));
        impossible += search.impossible.len();
        in_part.extend(search.in_part);
        judged.extend(search.judged);
        search.archive.tried.into_iter().for_each(|t| archive.add(t));
    }
    let best = archive.best(&weighted, 1)[0].taken.clone();
    told(judged.len(), "the rows beyond the headline");
    let finals = [primaries.clone(), best.clone()];
    let whole = final_rows(&subject, o, Scale::Quick, &finals, progress)?;
    let full = match o.full {
        true => Some(final_rows(&subject, o, Scale::Full, &finals, progress)?),
        false => None,
    };
    let counts = [
        archive.tried.len(),
        in_part.len(),
        impossible,
        simulation.asked,
        simulation.known.len(),
        simulation.ran,
    ];
    Ok(Inference::of(
        &subject,
        o,
        &archive,
        (primaries, best),
        (whole, full),
        held_out,
        counts,
    ))
}

/// Writes `infer.json`, `infer.md` and the best joint reading into its folder.
///
/// # Errors
/// The folder cannot be written.
pub fn write(inference: &Inference, store: &Store) -> Result<(), LabError> {
    let json = serde_json::to_vec_pretty(inference).map_err(|e| LabError::Internal(e.to_string()))?;
    store.write("infer.json", &json)?;
    store.write("infer.md", page(inference).as_bytes())?;
    let kept = inference.kept().to_toml(&inference.paper);
    let kept = kept.map_err(|e| LabError::Internal(e.to_string()))?;
    store.write(best::FILE, kept.as_bytes())
}

/// What is tried whatever comes of it: the primaries, every other reading alone, and a sample, of which the better part runs whole.
fn broad(
    search: &mut Search<'_, LabError>,
    primaries: &Taken,
    (rows, sample): (&[usize], usize),
    told: &dyn Fn(usize, &str),
) -> Result<(), LabError> {
    told(search.count(), "every reading alone");
    search.try_all(vec![primaries.clone()])?;
    search.try_all(search.space.neighbours(primaries))?;
    told(search.count(), "a broad sample");
    search.sample(sample, rows)
}

/// The directed part: most claims together, every claim that was never met, every pair that was never met together.
fn guided(
    search: &mut Search<'_, LabError>,
    (weighted, rows, tries): (&[usize], usize, usize),
    told: &dyn Fn(usize, &str),
) -> Result<(), LabError> {
    let rows: Vec<usize> = (0..rows).collect();
    told(search.count(), "most claims together");
    search.towards(weighted, tries / 2)?;
    told(search.count(), "claims that were never met");
    let never = findings::unreached(&search.archive, &rows);
    for row in &never {
        search.towards(&[*row], tries / 4 / never.len())?;
    }
    told(search.count(), "pairs of claims that were never met together");
    let (pairs, left) = (findings::never_together(&search.archive, &rows), tries / 4);
    // Where there are more pairs than tries for them, every so many is looked for.
    let most = (left / TRIED).max(1);
    let chosen: Vec<_> = pairs.iter().step_by(pairs.len().div_ceil(most).max(1)).collect();
    for pair in &chosen {
        search.towards(*pair, left / chosen.len())?;
    }
    Ok(())
}

/// All measured rows under these joint readings.
fn final_rows(
    subject: &Subject,
    o: &Options<'_>,
    scale: Scale,
    finals: &[Taken],
    progress: &(dyn Fn(&Cell, Step) + Sync),
) -> Result<Vec<Vec<Judged>>, LabError> {
    let mut simulation = subject.simulation(o, (&subject.all, scale), progress);
    let judged = simulation.judge(finals, Length::Whole)?;
    let nothing = || vec![Judged::default(); subject.all.len()];
    Ok(judged.into_iter().map(|j| j.unwrap_or_else(nothing)).collect())
}

impl HeldOut {
    /// How the best joint reading by the rows seen does on the rows hidden, beside what the primaries do there.
    fn of(archive: &Archive, primaries: &Taken, seen: &[usize], hidden: &[usize]) -> HeldOut {
        let met = |taken: &Taken, rows: &[usize]| archive.get(taken).map_or(0, |t| t.rank(rows).0);
        let best = archive.best(seen, 1)[0].taken.clone();
        HeldOut {
            seen: seen.len(),
            seen_met: met(&best, seen),
            hidden: hidden.len(),
            predicted: met(&best, hidden),
            by_text: met(primaries, hidden),
        }
    }
}
