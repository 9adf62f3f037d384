//! What killed servers and clients left, judged by the audit of replicas.

use fencepost_contract::replica;
use fencepost_kernel::{
    Bytes, EpochId, Image, LineAddr, LineData, PersistRecord, Ps, ReplicaEvent, WriteCause, units::LINE_BYTES,
};
use fencepost_native::{Noted, WireLeft, WireRequest};
use fencepost_programs::clients::transactions;
use std::collections::BTreeSet;

/// Why what was left is wrong, if it is: the file against the numbers in it and what clients believe; and, of servers that noted what they
/// did, every fence as a power failure.
pub(super) fn judge(request: &WireRequest, left: &WireLeft) -> Option<String> {
    let transactions = transactions(&request.client, Bytes(0), request.seed);
    for (client, (tx, epoch)) in (0..).zip(left.next.iter().copied()) {
        let believed = left.beliefs[usize::from(client)].last().map(|b| b.id);
        let next = EpochId { client, tx, epoch };
        if let Err(v) = replica::holds_prefix(&|at| left.word(at), &transactions, next, believed) {
            return Some(format!("the file after the kill: {v}"));
        }
    }
    let (journal, records) = facts(left);
    let audited = replica::audit(&journal, &transactions, (&Image::default(), &records), false);
    audited.err().map(|v| match v.events {
        Some(n) => format!("a power failure after {n} flushed lines: {v}"),
        None => v.to_string(),
    })
}

/// The notes as the audit takes them. An epoch whose number was not durable when a server process began is finished by that process: its
/// second application continues the first.
fn facts(left: &WireLeft) -> (Vec<ReplicaEvent>, Vec<PersistRecord>) {
    let (mut journal, mut records) = (Vec::new(), Vec::new());
    let (mut applied, mut unfinished) = (BTreeSet::new(), BTreeSet::new());
    // Lines durable before each note.
    let mut before = vec![0];
    for noted in &left.noted {
        match noted {
            Noted::Started(next) => {
                let lost = |id: &&EpochId| {
                    next.get(usize::from(id.client))
                        .is_some_and(|n| (id.tx, id.epoch) >= *n)
                };
                unfinished = applied.iter().filter(lost).copied().collect();
            }
            Noted::Applied { id, .. } if unfinished.remove(id) => {}
            Noted::Applied { id, at, bytes } => {
                applied.insert(*id);
                let lines = at.0 / LINE_BYTES..(at.0 + bytes).div_ceil(LINE_BYTES);
                let (id, channel) = (*id, id.client);
                journal.extend(
                    lines
                        .map(LineAddr)
                        .map(|line| ReplicaEvent::Applied { id, channel, line }),
                );
            }
            Noted::Durable { line, words } => records.push(PersistRecord {
                time: Ps(records.len() as u64),
                line: *line,
                data: LineData {
                    words: *words,
                    ..LineData::default()
                },
                cause: WriteCause::Remote,
            }),
        }
        before.push(records.len() as u64);
    }
    let believed = |b: &fencepost_native::Belief| (before[(b.noted as usize).min(before.len() - 1)], b.id);
    let mut beliefs: Vec<(u64, EpochId)> = match left.noted.is_empty() {
        true => Vec::new(),
        false => left.beliefs.iter().flatten().map(believed).collect(),
    };
    beliefs.sort_unstable();
    let event = |(durable_events, id)| ReplicaEvent::Believed { id, durable_events };
    journal.extend(beliefs.into_iter().map(event));
    (journal, records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Addr;
    use fencepost_native::{Belief, WireTransport};
    use fencepost_programs::clients::ClientParams;

    fn request() -> WireRequest {
        WireRequest {
            client: ClientParams::default(),
            channels: 1,
            transport: WireTransport::Tcp,
            address: std::net::Ipv4Addr::LOCALHOST.into(),
            token: None,
            seed: 1,
        }
    }
    fn id(tx: u32, epoch: u32) -> EpochId {
        EpochId { client: 0, tx, epoch }
    }
    /// A server that applies epochs of transaction 0 as told, and crashes nowhere.
    struct Server {
        left: WireLeft,
        next: (u32, u32),
    }
    impl Server {
        fn new() -> Server {
            let left = WireLeft {
                noted: vec![Noted::Started(vec![(0, 0)])],
                beliefs: vec![Vec::new()],
                next: vec![(0, 0)],
                file: vec![0; 4 << 20],
            };
            Server { left, next: (0, 0) }
        }
        fn block(id: EpochId) -> fencepost_kernel::RemoteEpoch {
            let r = request();
            transactions(&r.client, Bytes(0), r.seed)(0, id.tx)
                .epochs
                .swap_remove(id.epoch as usize)
        }
        fn stores(&mut self, id: EpochId) {
            let block = Self::block(id);
            let (at, bytes) = (block.at, block.bytes());
            self.left.noted.push(Noted::Applied { id, at, bytes });
            for (i, w) in block.words.iter().enumerate() {
                let byte = (at.0 - Addr::pm(0).0) as usize + 8 * i;
                self.left.file[byte..byte + 8].copy_from_slice(&w.to_le_bytes());
            }
        }
        fn flushes(&mut self, id: EpochId) {
            for line in Self::block(id).lines() {
                let words = std::array::from_fn(|i| self.left.word(Addr(line.base().0 + 8 * i as u64)));
                self.left.noted.push(Noted::Durable { line, words });
            }
        }
        fn numbers(&mut self, next: (u32, u32)) {
            self.next = next;
            self.left.next = vec![next];
        }
        fn believed(&mut self, id: EpochId) {
            let noted = self.left.noted.len() as u64;
            self.left.beliefs[0].push(Belief { id, noted });
        }
        fn judged(&self) -> Option<String> {
            judge(&request(), &self.left)
        }
    }

    #[test]
    fn an_epoch_whose_number_was_lost_may_come_again_and_no_other() {
        for number_lost in [true, false] {
            let mut s = Server::new();
            s.stores(id(0, 0));
            s.flushes(id(0, 0));
            if !number_lost {
                s.numbers((0, 1));
            }
            s.left.noted.push(Noted::Started(vec![s.next]));
            s.stores(id(0, 0));
            s.flushes(id(0, 0));
            s.numbers((0, 1));
            assert_eq!(s.judged().is_none(), number_lost, "{:?}", s.judged());
        }
    }

    #[test]
    fn a_belief_before_the_fence_is_false_though_the_file_is_right() {
        for early in [true, false] {
            let mut s = Server::new();
            s.stores(id(0, 0));
            if early {
                s.believed(id(0, 0));
            }
            s.flushes(id(0, 0));
            if !early {
                s.believed(id(0, 0));
            }
            s.numbers((0, 1));
            assert_eq!(
                s.judged().is_some_and(|w| w.contains("was told")),
                early,
                "{:?}",
                s.judged()
            );
        }
    }
}
