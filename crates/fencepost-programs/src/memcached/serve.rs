//! One request: from its text, if there is one, to the reply.

use super::cache::Shard;
use super::{GOT, MOVED, Memcached, Request, SET};
use crate::choices::Variant;
use crate::front::Reader;
use fencepost_kernel::{Addr, At, Mem, Outcome, Pm, Rollback, Val};

impl Memcached {
    #[inline(always)]
    pub(super) fn serve<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        request: Request,
        data: Option<Reader<M::Dep>>,
    ) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let list = self.places.lists.at(self.places.shard(request.key()));
        let mut shard = Shard {
            tx: &mut tx,
            places: self.places,
            list,
            fresh: 0,
        };
        let (key, value, words) = match request {
            Request::Set { key, value, words } => (key, value, words),
            Request::Get { key, moves } => {
                let place = shard.find(key);
                let mut found = 0;
                if place.found() {
                    found = shard.value(place.entry);
                    if moves {
                        shard.touch(place.entry);
                    }
                }
                tx.commit();
                let (kind, words) = (if moves && found != 0 { MOVED } else { GOT }, [found, 0, 0]);
                return Ok(Outcome { kind, words });
            }
        };
        let split = shard.tx.slip(Variant::NonAtomicUpdate);
        let last = match split {
            true => shard.store(key, (0, words), None),
            false => shard.store(key, (value, words), data),
        };
        tx.commit();
        if split {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            for w in 0..words {
                tx.update(At::new(Addr(last.addr.0 - w * 8)), Val::lit(value));
            }
            tx.commit();
        }
        Ok(Outcome {
            kind: SET,
            words: [0; 3],
        })
    }
    /// Takes the request from where the client's text arrives. A thread that was rolled back and does not know it yet finds none there:
    /// it goes on with the one that it was given, to no effect.
    #[inline(always)]
    pub(super) fn receive<M: Mem>(&self, m: &mut M, thread: u32, input: &Request) -> (Request, Option<Reader<M::Dep>>) {
        let set = match *input {
            Request::Set { value, words, .. } => Some((value, words)),
            Request::Get { .. } => None,
        };
        let taken = self.front.as_ref().and_then(|f| f.take(m, thread, input.key(), set));
        match (taken, *input) {
            (Some(c), Request::Set { value, words, .. }) => {
                let words = c.words.unwrap_or(words).min(self.params.largest.0 / 8);
                let key = c.key;
                (Request::Set { key, value, words }, Some(c.data))
            }
            (Some(c), Request::Get { moves, .. }) => (Request::Get { key: c.key, moves }, None),
            (None, request) => (request, None),
        }
    }
    #[inline(always)]
    pub(super) fn reply<M: Mem>(&self, m: &mut M, thread: u32, request: &Request, outcome: &Outcome) {
        let Some(front) = &self.front else { return };
        let found = outcome.words[0];
        match request {
            Request::Set { .. } => front.stored(m, thread),
            Request::Get { key, .. } => {
                let value = (found != 0).then(|| (found, self.words(*key)));
                front.value(m, thread, *key, value);
            }
        }
    }
}
