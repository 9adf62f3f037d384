//! What one failure point has shown, for the audits of the next.
//!
//! A failure point at which every crash state was searched and none broke has shown, of every word that can hold one value only there,
//! that this value is right. At the next one an audit need not read such a word again, unless it may have changed, recovery has written it
//! in any run, or something else is right now. Some failure points are audited whole, the first and the last among them: they say that
//! what was passed over was right.

use super::on_image::Walk;
use super::path::Path;
use super::walks::Walks;
use crate::graph::FailurePoint;
use fencepost_kernel::planted;
use fencepost_kernel::{CrashPoint, Judged, LineAddr};
use std::rc::Rc;

/// The way from failure point to failure point.
#[derive(Debug)]
pub(super) struct Judging {
    /// What was right at the failure point before, unless that is not known.
    before: Option<CrashPoint>,
    /// What had happened at the failure point under search.
    crash: Option<CrashPoint>,
    walks: Walks,
    walk: Walk,
    /// Whether audits rely on anything at all.
    on: bool,
    number: u64,
    accesses: u64,
}
impl Judging {
    /// Nothing is known.
    pub(super) fn new(on: bool) -> Judging {
        Judging {
            before: None,
            crash: None,
            walks: Walks::default(),
            walk: Walk::Whole,
            on,
            number: 0,
            accesses: 0,
        }
    }
    /// Moves `path` on with `advance` to a failure point.
    pub(super) fn next(
        &mut self,
        path: &mut Path,
        (point, last): (&FailurePoint, bool),
        advance: impl FnOnce(&mut Path),
    ) {
        self.number += 1;
        self.accesses = path.watch.total();
        self.walk = self.walks.next(self.number, last);
        // Only some programs ask; it is not worked out for others.
        let on = self.on && path.judged.1;
        let places = if on {
            path.known.changing(point.executed)
        } else {
            Vec::new()
        };
        advance(path);
        path.known.count_changes(&places);
        let before = self.before.take().filter(|_| on && self.walk == Walk::Changed);
        path.judged.0 = before.map(|crash| {
            let changed = Self::changed(path, &places);
            Rc::new(Judged { crash, changed })
        });
        // Continuations merge only while the crash point is the same: until then this is what all of them have written.
        if self.crash.as_ref() != Some(&point.crash) {
            self.crash = Some(point.crash.clone());
            path.written.clear();
        }
    }
    fn changed(path: &Path, places: &[u32]) -> Vec<LineAddr> {
        let all = path.known.order().lines();
        let mut changed: Vec<LineAddr> = places.iter().map(|place| all[*place as usize]).collect();
        let forgotten = planted!(
            "explorer.change-forgotten",
            "an audit reads again what may have changed since the one before"
        );
        if forgotten {
            changed.clear();
        }
        changed.extend(&path.written);
        changed.sort_unstable();
        changed.dedup();
        changed
    }
    /// The failure point was searched, and all of its crash states are right if it is `clean`.
    pub(super) fn searched(&mut self, path: &mut Path, clean: bool) {
        self.walks.done(self.walk, path.watch.total() - self.accesses);
        self.before = self.crash.clone().filter(|_| clean);
        path.written.sort_unstable();
        path.written.dedup();
    }
}
