//! Entries leave the store buffers.

use super::{Buffered, Effect, Machine, Queued, State, Step};
use crate::format::op::FlushKind;
use fencepost_contract::LineOrder;
use fencepost_kernel::Fence;

impl Machine<'_> {
    /// The queue of a word.
    pub(super) fn queue(&self, word: usize) -> usize {
        match self.line_order {
            LineOrder::Fifo => (0..word).find(|w| self.layout.same_line(*w, word)).unwrap_or(word),
            LineOrder::Unordered => word,
        }
    }
    fn line(&self, word: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.layout.words.len()).filter(move |w| self.layout.same_line(*w, word))
    }
    fn line_is_clean(&self, s: &State, word: usize) -> bool {
        self.line(word).all(|w| s.queues[self.queue(w)].is_empty())
    }

    /// Entry `i` of a thread's buffer, if older ones let it pass.
    pub(super) fn drain(&self, s: &State, t: usize, i: usize, out: &mut Vec<Step>) {
        let (older, entry) = (&s.hw_threads[t].buffer[..i], s.hw_threads[t].buffer[i]);
        let any = |f: &dyn Fn(&Buffered) -> bool| older.iter().any(f);
        let on_line = |b: &Buffered, word: usize| match b {
            Buffered::Store(w, ..) | Buffered::Flush(w, _) => self.layout.same_line(*w, word),
            Buffered::Sfence => false,
        };
        let weak_flush = |b: &Buffered| matches!(b, Buffered::Flush(_, FlushKind::Weak));
        let nt = |b: &Buffered| matches!(b, Buffered::Store(_, _, true));
        let sfence = any(&|b| *b == Buffered::Sfence);
        let strong = any(&|b| !weak_flush(b) && !nt(b));
        let mut n = s.clone();
        n.hw_threads[t].buffer.remove(i);
        let effect = match entry {
            Buffered::Store(word, value, false) => {
                let passed = any(&|b| on_line(b, word) && (weak_flush(b) || nt(b)));
                if strong || passed || self.nt_in_order && any(&nt) {
                    return;
                }
                self.perform(&mut n, word, value);
                Effect::Store(word, value, false)
            }
            Buffered::Store(word, value, true) => {
                let blocked = sfence || any(&|b| on_line(b, word)) || !self.line_is_clean(s, word);
                if blocked || self.nt_in_order && strong {
                    return;
                }
                n.memory[word] = value;
                n.nvm[word] = value;
                Effect::Store(word, value, true)
            }
            Buffered::Flush(word, FlushKind::Strong) => {
                if strong || any(&|b| on_line(b, word)) || !self.line_is_clean(s, word) {
                    return;
                }
                Effect::Flush(word, FlushKind::Strong)
            }
            Buffered::Flush(word, FlushKind::Weak) => {
                if sfence || any(&|b| on_line(b, word) && !weak_flush(b)) {
                    return;
                }
                if self.persists {
                    let mut queues: Vec<usize> = self.line(word).map(|w| self.queue(w)).collect();
                    queues.dedup();
                    queues.into_iter().for_each(|q| n.queues[q].push(Queued::Flush(t)));
                }
                Effect::Flush(word, FlushKind::Weak)
            }
            Buffered::Sfence => {
                if !older.is_empty() || !self.flushes_done(s, t) {
                    return;
                }
                Effect::Fence(Fence::Sfence)
            }
        };
        out.push((t, effect, n));
    }
}
