//! The network: clients, links and the server's adapter, for persistence on a remote node.
//!
//! A client persists a transaction epoch by epoch. Each epoch is one `rdma_pwrite`, a block that the server treats as one barrier
//! region. Messages of a channel arrive in the order in which they were sent. The server's adapter writes them into the last-level cache
//! (DDIO), where they are coherent with the server's own threads, and into the channel's remote persist buffer, which belongs to the design;
//! at the end of a block it records a barrier. When the design reports a region as durable, the adapter sends the persist ACK that was asked
//! for: for every epoch ([`Protocol::Sync`]) or for the last of a transaction ([`Protocol::Bsp`]).
//!
//! An ACK that does not come in time aborts the transaction, which is persisted again. The server recognises what it has applied, so
//! nothing is applied twice; what it has not applied is applied in order.
//!
//! Hu et al., Persistence Parallelism Optimization, MICRO 2018, sections IV-C and V-A.
//!
//! `Network` owns all of that state and asks the rest of the machine through `Outside`. Reading order: `spec`, `link`, `client`,
//! `server`, here.

mod client;
mod link;
mod outside;
mod server;
mod spec;
#[cfg(test)]
mod tests;

pub use client::ClientReport;
use client::{Client, Doing, Message};
use fencepost_kernel::{EpochId, Ps, ReplicaEvent, Stream, Transactions, planted};
pub(crate) use outside::{Outside, Step};
use server::{Adapter, Arrival, Channel, Pending, Range, Seen};
pub use spec::{MOST_CLIENTS, NetworkSpec, Protocol};
use std::collections::VecDeque;

/// What the network leaves behind.
#[derive(Clone, Debug, Default)]
pub struct NetworkReport {
    /// Per client.
    pub clients: Vec<ClientReport>,
    /// What an audit has to know, in order (recorded runs only).
    pub journal: Vec<ReplicaEvent>,
    /// Messages and ACKs lost.
    pub lost: u64,
}

/// An ACK on its way: what it acknowledges, and how long that was at the server.
type AckOnWire = (EpochId, Ps);

/// Clients, links and the server's adapter.
pub(crate) struct Network {
    spec: NetworkSpec,
    transactions: Transactions,
    clients: Vec<Client>,
    server: Adapter,
    /// ACKs on their way to each client, the oldest first.
    acks: Vec<VecDeque<AckOnWire>>,
    dice: Stream,
    record: bool,
    /// No further transaction begins.
    closing: bool,
    report: NetworkReport,
}

impl Network {
    /// A network of `spec`, whose clients execute `transactions`.
    pub(crate) fn new(spec: &NetworkSpec, transactions: Transactions, seed: u64, record: bool) -> Network {
        let clients = usize::from(spec.clients);
        Network {
            spec: spec.clone(),
            transactions,
            clients: vec![Client::new(); clients],
            server: Adapter {
                channels: vec![Channel::default(); usize::from(spec.ports())],
                seen: vec![Seen::default(); clients],
                ..Adapter::default()
            },
            acks: vec![VecDeque::new(); clients],
            dice: Stream::new(seed, "network"),
            record,
            closing: false,
            report: NetworkReport::default(),
        }
    }
    /// Remote persist buffers that it feeds.
    pub(crate) fn ports(&self) -> u8 {
        self.spec.ports()
    }
    /// Every client starts its first transaction.
    pub(crate) fn start(&mut self, out: &mut impl Outside) {
        for client in 0..self.spec.clients {
            self.compute(out, client);
        }
    }
    /// No client begins another transaction, if they go on for as long as there are local programs.
    pub(crate) fn close(&mut self) {
        self.closing |= self.spec.transactions == 0;
    }
    /// Whether every client has finished (or crashed) and everything sent was applied.
    pub(crate) fn is_finished(&self) -> bool {
        let ended = |c: &Client| matches!(c.doing, Doing::Finished | Doing::Crashed);
        let empty = |c: &Channel| c.wire.is_empty() && c.arrived.is_empty();
        self.clients.iter().all(ended) && self.server.channels.iter().all(empty)
    }
    /// What it leaves behind: the journal whole, the rest without what was counted by `begins`, when the measured part began.
    pub(crate) fn into_report(mut self, start: Option<&NetworkReport>, begins: Ps) -> NetworkReport {
        let counted = self.counted();
        (self.report.clients, self.report.lost) = (counted.clients, counted.lost);
        if let Some(start) = start {
            self.report.lost -= start.lost;
            for (client, before) in self.report.clients.iter_mut().zip(&start.clients) {
                *client = client.since(before, begins);
            }
        }
        self.report
    }
    /// What clients did so far, without the journal.
    pub(crate) fn counted(&self) -> NetworkReport {
        NetworkReport {
            clients: self.clients.iter().map(|c| c.report.clone()).collect(),
            journal: Vec::new(),
            lost: self.report.lost,
        }
    }
    /// Who waits for what: printed when the machine is stuck.
    pub(crate) fn explain(&self) -> String {
        let client =
            |(i, c): (usize, &Client)| format!("  client {i}: transaction {}, {:?} since {}\n", c.tx, c.doing, c.since);
        let channel = |(i, c): (usize, &Channel)| {
            let (arrived, pending) = (c.arrived.len(), c.pending.len());
            format!(
                "  channel {i}: {} messages on the wire, {arrived} arrived, {pending} regions not durable\n",
                c.wire.len()
            )
        };
        let clients: String = self.clients.iter().enumerate().map(client).collect();
        clients + &self.server.channels.iter().enumerate().map(channel).collect::<String>()
    }
    /// Something that it scheduled happens.
    pub(crate) fn step(&mut self, out: &mut impl Outside, step: Step) {
        match step {
            Step::Begin(client) => self.begin(out, client),
            Step::Timeout(client, wait) => self.timeout(out, client, wait),
            Step::Deliver(channel) => self.deliver(out, channel),
            Step::Ack(client) => self.ack_arrives(out, client),
            Step::Line(channel) => {
                self.server.channels[usize::from(channel)].busy = false;
                self.take(out, channel);
            }
            Step::Durable(channel, region) => self.durable(out, channel, region),
        }
    }

    fn note(&mut self, event: ReplicaEvent) {
        if self.record {
            self.report.journal.push(event);
        }
    }

    // ---- clients

    fn compute(&mut self, out: &mut impl Outside, client: u8) {
        let c = &mut self.clients[usize::from(client)];
        let limit = self.spec.transactions;
        if self.closing || (limit > 0 && c.tx >= limit) {
            c.doing = Doing::Finished;
            return;
        }
        let transaction = (self.transactions)(client, c.tx);
        c.epochs = transaction.epochs;
        c.doing = Doing::Computing;
        c.report.compute += transaction.compute;
        out.schedule(out.now() + transaction.compute, Step::Begin(client));
    }
    fn begin(&mut self, out: &mut impl Outside, client: u8) {
        match self.clients[usize::from(client)].epochs.is_empty() {
            true => self.finish_transaction(out, client),
            false => self.send_from(out, client, 0),
        }
    }
    fn finish_transaction(&mut self, out: &mut impl Outside, client: u8) {
        let c = &mut self.clients[usize::from(client)];
        c.report.transactions += 1;
        c.report.persisted += u64::from(!c.epochs.is_empty());
        c.report.finished = out.now();
        c.failures = 0;
        c.tx += 1;
        self.compute(out, client);
    }
    /// Posts what the protocol allows of a transaction from epoch `first` on.
    fn send_from(&mut self, out: &mut impl Outside, client: u8, first: u32) {
        let c = &mut self.clients[usize::from(client)];
        let messages = c.messages(client, self.spec.protocol, first, out.now());
        out.schedule(
            out.now() + self.spec.patience(c.failures),
            Step::Timeout(client, c.wait),
        );
        for m in messages {
            let c = &mut self.clients[usize::from(client)];
            c.sent += 1;
            if self.spec.crash_after > 0 && c.sent > self.spec.crash_after {
                c.doing = Doing::Crashed;
                return;
            }
            self.post(out, client, m);
        }
    }
    fn timeout(&mut self, out: &mut impl Outside, client: u8, wait: u32) {
        let c = &mut self.clients[usize::from(client)];
        if c.wait != wait || !matches!(c.doing, Doing::Waiting(_)) {
            return;
        }
        c.failures += 1;
        c.report.again += 1;
        c.report.persist += out.now().saturating_sub(c.since);
        self.server.channels[usize::from(self.spec.channel_of(client))].broken = false;
        self.send_from(out, client, 0);
    }
    fn ack_arrives(&mut self, out: &mut impl Outside, client: u8) {
        let (id, at_server) = self.acks[usize::from(client)]
            .pop_front()
            .expect("an ACK is on its way");
        self.note(ReplicaEvent::AckArrived { id });
        let c = &mut self.clients[usize::from(client)];
        let Ok(next) = c.acknowledged(id, at_server, out.now()) else {
            return;
        };
        let durable_events = out.durable_events();
        self.note(ReplicaEvent::Believed { id, durable_events });
        match next {
            Some(epoch) => self.send_from(out, client, epoch),
            None => self.finish_transaction(out, client),
        }
    }

    // ---- the wire

    fn post(&mut self, out: &mut impl Outside, client: u8, m: Message) {
        let duration = self.spec.duration(m.block.bytes() + self.spec.header.0);
        let sent = self.clients[usize::from(client)]
            .link
            .send(out.now(), duration, self.spec.latency);
        let arrival = self.server.inbound.pass(sent, duration);
        let broken = self.spec.broken > 0 && self.dice.chance(self.spec.broken.into(), 1000);
        let channel = self.spec.channel_of(client);
        let c = &mut self.server.channels[usize::from(channel)];
        c.broken |= broken;
        if c.broken {
            self.report.lost += 1;
            return;
        }
        c.wire.push_back((arrival, m));
        let n = c.wire.len();
        let reordered = n > 1
            && planted!(
                "network.reorders",
                "a channel keeps the order in which messages were sent"
            );
        if reordered {
            let (a, b) = (c.wire[n - 2].0, c.wire[n - 1].0);
            c.wire.swap(n - 2, n - 1);
            (c.wire[n - 2].0, c.wire[n - 1].0) = (a, b);
        }
        out.schedule(arrival, Step::Deliver(channel));
    }
    fn send_ack(&mut self, out: &mut impl Outside, channel: u8, id: EpochId, arrived: Ps) {
        let lost = self.spec.lost_acks > 0 && self.dice.chance(self.spec.lost_acks.into(), 1000);
        let lost = lost || self.server.channels[usize::from(channel)].broken;
        self.note(ReplicaEvent::AckSent { id, lost });
        if lost {
            self.report.lost += 1;
            return;
        }
        let duration = self.spec.duration(self.spec.ack.0);
        let at = self.server.outbound.send(out.now(), duration, self.spec.latency);
        self.acks[usize::from(id.client)].push_back((id, out.now().saturating_sub(arrived)));
        out.schedule(at, Step::Ack(id.client));
    }

    // ---- the server

    fn deliver(&mut self, out: &mut impl Outside, channel: u8) {
        let c = &mut self.server.channels[usize::from(channel)];
        let (arrived, m) = c.wire.pop_front().expect("a message is on the wire");
        let seen = &mut self.server.seen[usize::from(m.id.client)];
        match seen.arrives(&m) {
            Arrival::New => {
                c.arrived.push_back((arrived, m));
                if c.arrived.len() == 1 {
                    c.range = Range::of(&c.arrived[0].1);
                    self.ask_for_bus(out, channel);
                }
            }
            Arrival::Again if m.ack && seen.durable.is_some_and(|d| d >= m.id) => {
                self.send_ack(out, channel, m.id, arrived);
            }
            // Applied and not durable: the ACK of the first arrival is still to come. After a gap the client persists again.
            Arrival::Again | Arrival::Gap => {}
        }
    }
    fn ask_for_bus(&mut self, out: &mut impl Outside, channel: u8) {
        self.server.channels[usize::from(channel)].busy = true;
        let at = out.bus_slot(out.now());
        out.schedule(at, Step::Line(channel));
    }
    /// What was refused may go on: takes the next line of the channel's oldest block, or records its end.
    pub(crate) fn resume(&mut self, out: &mut impl Outside, channel: u8) {
        if !self.server.channels[usize::from(channel)].busy {
            self.take(out, channel);
        }
    }
    fn take(&mut self, out: &mut impl Outside, channel: u8) {
        let c = &mut self.server.channels[usize::from(channel)];
        let Some((arrived, m)) = c.arrived.front() else { return };
        if let Some(line) = c.range.line() {
            if !out.take_line(channel, &m.block, line) {
                return;
            }
            if self.record {
                let id = m.id;
                self.report.journal.push(ReplicaEvent::Applied { id, channel, line });
            }
            c.range.advance();
            return self.ask_for_bus(out, channel);
        }
        let region = c.regions;
        let lost = !m.ack && planted!("network.boundary-lost", "the end of every block is a barrier");
        if !lost && !out.end_region(channel, region) {
            return;
        }
        c.regions += 1;
        let (id, ack, arrived) = (m.id, m.ack, *arrived);
        c.pending.push_back(Pending {
            id,
            region,
            ack,
            arrived,
        });
        c.arrived.pop_front();
        if let Some((_, next)) = c.arrived.front() {
            c.range = Range::of(next);
            self.ask_for_bus(out, channel);
        }
        let early = ack
            && planted!(
                "network.ack-before-durable",
                "an ACK is sent when its region is durable"
            );
        if early {
            self.send_ack(out, channel, id, arrived);
        }
    }
    /// The design reports a region: it and all before it on the channel are durable.
    fn durable(&mut self, out: &mut impl Outside, channel: u8, region: u32) {
        loop {
            let c = &mut self.server.channels[usize::from(channel)];
            let Some(p) = c.pending.front().copied().filter(|p| p.region <= region) else {
                return;
            };
            c.pending.pop_front();
            self.server.seen[usize::from(p.id.client)].durable = Some(p.id);
            if p.ack {
                self.send_ack(out, channel, p.id, p.arrived);
            }
        }
    }
}
