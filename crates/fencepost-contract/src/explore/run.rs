//! The two things that an explorer does: going through the crash states of an execution, and running one of them again.

use super::again;
use super::crash_report::Report;
use super::explorer::{Explorer, Replayed};
use super::replay_id::{ReplayError, ReplayId};
use super::search::{ExploreError, Subject};
use super::witness::Witness;
use super::work::Work;

impl Explorer<'_> {
    /// Explores every crash state, or as many as the budget allows, until a violation is found.
    pub fn explore(&self, subject: &mut dyn Subject) -> Result<Report, ExploreError> {
        subject.forget();
        let mut work = Work::new(self);
        let found = match work.exactly(subject)? {
            None if !work.unfinished.is_empty() && !self.exact_only => work.boundedly(subject)?,
            found => found,
        };
        match found {
            Some((point, broken)) => work.convict(subject, point, broken),
            None => work.interrupt(subject, &|inner, subject| inner.explore(subject)),
        }
    }
    /// Runs recovery on the one state that a replay id names.
    pub fn replay(&self, subject: &mut dyn Subject, id: &str) -> Result<Replayed, ReplayError> {
        let (prefix, state) = ReplayId::decode(id)?;
        let Some(second) = ReplayId::decode_again(id)? else {
            return self.replay_state(subject, prefix, &state);
        };
        let (mut path, durable) = self.settled(&state)?;
        let point = state.point as usize;
        let decided = vec![true; durable.len()];
        let found = again::replay(self, &mut path, (point, &durable), &second, subject)?;
        let witness = found.as_ref().err().map(|(why, inner)| {
            Witness::new(
                self.space,
                point,
                (&durable, &decided),
                why.clone(),
                false,
                (prefix, state.digest),
            )
            .interrupted(inner.clone())
        });
        Ok(Replayed {
            verdict: found.map_err(|f| f.0),
            witness,
        })
    }
}
