//! A client: it persists the epochs of its transactions, and after a lost connection or acknowledgement sends the transaction again.

use super::super::parent::end_with_parent;
use super::beliefs::Beliefs;
use super::board::Board;
use super::frames::{Hello, Welcome, answered, block, ping};
use super::greeting::greet;
use super::token::Token;
use super::transport::{Link, Transport};
use super::transports;
use crate::error::NativeError;
use crate::wire::{ClientsPlan, WireProtocol, WireRequest};
use fencepost_kernel::{Bytes, EpochId, Ps, RemoteEpoch};
use fencepost_programs::clients::transactions;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between attempts to connect; doubled with each failure in a row up to [`LONGEST_PAUSE`] times this.
const PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: u32 = 16;

/// A client that is about to be killed waits so long for an acknowledgement at first.
const TIMEOUT: Duration = Duration::from_millis(15);

/// A connection that comes back.
pub(super) struct Connection {
    transport: Arc<dyn Transport>,
    port: u16,
    /// Who connects, and the secret that it shares with the server.
    of: Hello,
    token: Token,
    link: Option<Link>,
    /// Of the link that stands.
    welcome: Option<Welcome>,
    /// The message under way, one way or the other.
    message: Vec<u8>,
    /// A client that waits longer for an acknowledgement takes the connection to be lost. Doubled with each failure in a row: a busy
    /// machine may need longer than any time fixed beforehand.
    timeout: Duration,
    failures: u32,
    /// How long it tries to persist one transaction.
    patience: Duration,
}

/// A client's transaction: who, which, and what it persists.
pub(super) struct Sending<'a> {
    /// Client.
    pub client: u8,
    /// Its transaction.
    pub tx: u32,
    /// Its epochs.
    pub epochs: &'a [RemoteEpoch],
}
impl Sending<'_> {
    fn id(&self, epoch: usize) -> EpochId {
        EpochId {
            client: self.client,
            tx: self.tx,
            epoch: epoch as u32,
        }
    }
}

impl Connection {
    /// Of a client to a port; it waits for an answer for `timeout`, and tries to persist one transaction for `patience`.
    pub(super) fn new(
        (transport, port): (Arc<dyn Transport>, u16),
        (of, token): (Hello, Token),
        (timeout, patience): (Duration, Duration),
    ) -> Connection {
        Connection {
            transport,
            port,
            of,
            token,
            link: None,
            welcome: None,
            message: Vec::new(),
            timeout,
            failures: 0,
            patience,
        }
    }
    /// Connects, if it is not connected; the session.
    fn connect(&mut self) -> io::Result<Welcome> {
        if let (Some(_), Some(welcome)) = (&self.link, self.welcome) {
            return Ok(welcome);
        }
        let mut link = self.transport.connect(self.port)?;
        let welcome = greet(
            &mut link,
            &self.token,
            self.of,
            self.timeout * (1 << self.failures.min(8)),
        )?;
        (self.link, self.welcome) = (Some(link), Some(welcome));
        Ok(welcome)
    }
    /// Sends the message.
    fn send(&mut self) -> io::Result<()> {
        let link = self.link.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        link.outgoing.send(&self.message)
    }
    /// Waits for an answer.
    fn answer(&mut self) -> io::Result<Option<(u32, u32)>> {
        let within = self.timeout * (1 << self.failures.min(8));
        let link = self.link.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        link.incoming.receive(&mut self.message, Some(within))?;
        answered(&self.message)
    }
    /// The time that an empty message and its answer take.
    pub(super) fn round_trip(&mut self) -> io::Result<Duration> {
        self.connect()?;
        self.message = ping();
        let since = Instant::now();
        self.send()?;
        self.answer()?;
        Ok(since.elapsed())
    }
    /// Persists a transaction and tells `believed` of every acknowledgement; `again` is called before it is sent again. How many
    /// acknowledgements were waited for.
    pub(super) fn persist(
        &mut self,
        protocol: WireProtocol,
        sending: &Sending<'_>,
        believed: &mut dyn FnMut(EpochId),
        again: &mut dyn FnMut(),
    ) -> Result<u64, NativeError> {
        let (since, mut waits) = (Instant::now(), 0);
        loop {
            let why = match self.attempt(protocol, sending, believed, &mut waits) {
                Ok(()) => {
                    self.failures = 0;
                    return Ok(waits);
                }
                Err(why) => why,
            };
            self.failures += 1;
            self.link = None;
            if why.kind() == io::ErrorKind::PermissionDenied {
                return Err(NativeError::Refused(format!(
                    "the server refuses client {}: {why}",
                    sending.client
                )));
            }
            if since.elapsed() > self.patience {
                return Err(NativeError::Child(format!("does not answer: {why}")));
            }
            again();
            std::thread::sleep(PAUSE * (1 << (self.failures - 1).min(31)).min(LONGEST_PAUSE));
        }
    }
    fn attempt(
        &mut self,
        protocol: WireProtocol,
        sending: &Sending<'_>,
        believed: &mut dyn FnMut(EpochId),
        waits: &mut u64,
    ) -> io::Result<()> {
        let Welcome { session, next } = self.connect()?;
        // What it sends now would be taken for what was applied already: acknowledged, and dropped.
        if next > (sending.tx.saturating_add(1), 0) {
            let why = "the server has epochs of it that it never sent";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let last = sending.epochs.len() - 1;
        for (i, epoch) in sending.epochs.iter().enumerate() {
            let ack = protocol == WireProtocol::Sync || i == last;
            block(&mut self.message, session, sending.id(i), epoch, (i == last, ack));
            // One message for each epoch, as one remote write each.
            self.send()?;
            if ack {
                *waits += 1;
                let expected = Some((sending.tx, i as u32));
                if self.answer()? != expected {
                    return Err(io::Error::other("the answer of something else"));
                }
                believed(sending.id(i));
            }
        }
        Ok(())
    }
}

/// Computes for so long.
pub(super) fn compute(time: Ps) {
    let (since, time) = (Instant::now(), Duration::from_nanos(time.0 / 1000));
    while since.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// What a process of clients runs until it is killed: every client goes on behind what it believes.
pub fn persist(request: &WireRequest, plan: &ClientsPlan) -> Result<(), NativeError> {
    end_with_parent();
    let beliefs = Beliefs::open(&plan.beliefs, request.channels)?;
    let board = Board::open(&plan.board, true)?;
    let (transport, token) = (transports::open(request)?, Token::of(request)?);
    // The server may still be starting.
    while board.port() == 0 {
        std::thread::sleep(PAUSE);
    }
    std::thread::scope(|s| {
        let (beliefs, board) = (&beliefs, &board);
        let connection = |client| {
            let key = beliefs.key(client).map_err(|e| NativeError::Child(e.to_string()))?;
            let forever = Duration::from_secs(1 << 20);
            let of = (Hello { client, key }, token.clone());
            Ok::<_, NativeError>(Connection::new((transport.clone(), plan.port), of, (TIMEOUT, forever)))
        };
        let start = |client| {
            let connection = connection(client);
            s.spawn(move || one(request, plan, (beliefs, board), connection?, client))
        };
        let each = (0..request.channels).map(start);
        each.collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|t| t.join().unwrap_or_else(|_| Err(NativeError::Child("panicked".into()))))
    })
}

fn one(
    request: &WireRequest,
    plan: &ClientsPlan,
    (beliefs, board): (&Beliefs, &Board),
    mut connection: Connection,
    client: u8,
) -> Result<(), NativeError> {
    let transactions = transactions(&request.client, Bytes(0), request.seed);
    let ended = |last: EpochId| last.epoch as usize + 1 == transactions(client, last.tx).epochs.len();
    let mut tx = beliefs.last(client).map_or(0, |l| l.tx + u32::from(ended(l)));
    while !beliefs.is_full(client) {
        let transaction = transactions(client, tx);
        compute(transaction.compute);
        let (epochs, believed) = (&transaction.epochs, &mut |id| beliefs.believe(id, board.count()));
        if !epochs.is_empty() {
            let sending = Sending { client, tx, epochs };
            connection.persist(plan.protocol, &sending, believed, &mut || beliefs.sends_again(client))?;
        }
        tx += 1;
    }
    loop {
        std::thread::park();
    }
}
