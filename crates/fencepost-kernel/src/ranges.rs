//! What a thread knows of the write sub-queues that its memory is bound to (per-task committing).

use crate::ops::QueueId;
use crate::span::Span;
use crate::units::LineAddr;

/// The bindings of a thread, and the queues that it has to commit.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    bound: Vec<(Span, QueueId)>,
    /// Queues of lines that were flushed since the last commit, each once.
    persisted: Vec<QueueId>,
}

impl Ranges {
    /// A range was bound; to the default queue where nothing was bound.
    pub fn bound(&mut self, span: Span, queue: QueueId) {
        if queue != QueueId::DEFAULT {
            self.bound.push((span, queue));
        }
    }
    /// One binding of a range was undone.
    pub fn released(&mut self, span: Span) {
        if let Some(i) = self.bound.iter().position(|b| b.0 == span) {
            self.bound.remove(i);
        }
    }
    /// The queue of a line.
    pub fn queue(&self, line: LineAddr) -> QueueId {
        let holds = |b: &&(Span, QueueId)| {
            let (first, count) = b.0.lines();
            line.0.wrapping_sub(first.0) < count
        };
        self.bound.iter().find(holds).map_or(QueueId::DEFAULT, |b| b.1)
    }
    /// A line was flushed.
    pub fn persisted(&mut self, line: LineAddr) {
        let queue = self.queue(line);
        if line.is_persistent() && !self.persisted.contains(&queue) {
            self.persisted.push(queue);
        }
    }
    /// Takes a queue that holds flushed lines, the one flushed into first.
    pub fn next_to_commit(&mut self) -> Option<QueueId> {
        (!self.persisted.is_empty()).then(|| self.persisted.remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Addr;

    #[test]
    fn every_queue_that_was_flushed_into_is_committed_once() {
        let span = |at, len| Span { at: Addr::pm(at), len };
        let mut r = Ranges::default();
        r.bound(span(0, 100), QueueId(2));
        r.bound(span(640, 64), QueueId(1));
        r.bound(span(1280, 64), QueueId::DEFAULT);
        for at in [640, 64, 700, 6400, 0] {
            r.persisted(Addr::pm(at).line());
        }
        r.persisted(Addr(0).line());
        let all: Vec<_> = std::iter::from_fn(|| r.next_to_commit()).map(|q| q.0).collect();
        assert_eq!(all, [1, 2, 0]);
        r.released(span(0, 100));
        assert_eq!(r.queue(Addr::pm(64).line()), QueueId::DEFAULT);
    }
}
