//! A client: it persists the epochs of its transactions, and after a lost connection or acknowledgement sends the transaction again.

use super::super::parent::end_with_parent;
use super::beliefs::Beliefs;
use super::board::Board;
use super::frames::{answered, block, ping};
use crate::error::NativeError;
use crate::wire::{ClientsPlan, WireProtocol, WireRequest};
use fencepost_kernel::{Bytes, EpochId, Ps, RemoteEpoch};
use fencepost_programs::clients::transactions;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

/// Between attempts to connect.
const PAUSE: Duration = Duration::from_millis(1);

/// A connection that comes back.
pub struct Connection {
    port: u16,
    stream: Option<TcpStream>,
    /// A client that waits longer for an acknowledgement takes the connection to be lost. Doubled with each failure in a row: a busy
    /// machine may need longer than any time fixed beforehand.
    timeout: Duration,
    failures: u32,
    /// How long it tries to persist one transaction.
    patience: Duration,
}

/// A client's transaction: who, which, and what it persists.
pub struct Sending<'a> {
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
    /// To a port of this machine.
    pub fn new(port: u16, timeout: Duration, patience: Duration) -> Connection {
        Connection {
            port,
            stream: None,
            timeout,
            failures: 0,
            patience,
        }
    }
    fn stream(&mut self) -> io::Result<&mut TcpStream> {
        if self.stream.is_none() {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(self.timeout * (1 << self.failures.min(8))))?;
            self.stream = Some(stream);
        }
        self.stream.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
    /// The time that an empty message and its answer take.
    pub fn round_trip(&mut self) -> io::Result<Duration> {
        let stream = self.stream()?;
        let since = Instant::now();
        ping(stream)?;
        answered(stream)?;
        Ok(since.elapsed())
    }
    /// Persists a transaction and tells `believed` of every acknowledgement; `again` is called before it is sent again. How many
    /// acknowledgements were waited for.
    pub fn persist(
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
            self.stream = None;
            if since.elapsed() > self.patience {
                return Err(NativeError::Child(format!("does not answer: {why}")));
            }
            again();
            std::thread::sleep(PAUSE);
        }
    }
    fn attempt(
        &mut self,
        protocol: WireProtocol,
        sending: &Sending<'_>,
        believed: &mut dyn FnMut(EpochId),
        waits: &mut u64,
    ) -> io::Result<()> {
        let stream = self.stream()?;
        let last = sending.epochs.len() - 1;
        let mut bytes = Vec::new();
        for (i, epoch) in sending.epochs.iter().enumerate() {
            let ack = protocol == WireProtocol::Sync || i == last;
            bytes.clear();
            block(&mut bytes, sending.id(i), epoch, i == last, ack);
            // One message for each epoch, as one remote write each.
            stream.write_all(&bytes)?;
            if ack {
                *waits += 1;
                let expected = Some((sending.tx, i as u32));
                if answered(stream)? != expected {
                    return Err(io::Error::other("the answer of something else"));
                }
                believed(sending.id(i));
            }
        }
        Ok(())
    }
}

/// Computes for so long.
pub fn compute(time: Ps) {
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
    std::thread::scope(|s| {
        let (beliefs, board) = (&beliefs, &board);
        let each = (0..request.channels).map(|client| s.spawn(move || one(request, plan, beliefs, board, client)));
        each.collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|t| t.join().unwrap_or_else(|_| Err(NativeError::Child("panicked".into()))))
    })
}

fn one(
    request: &WireRequest,
    plan: &ClientsPlan,
    beliefs: &Beliefs,
    board: &Board,
    client: u8,
) -> Result<(), NativeError> {
    let transactions = transactions(&request.client, Bytes(0), request.seed);
    let ended = |last: EpochId| last.epoch as usize + 1 == transactions(client, last.tx).epochs.len();
    let mut tx = beliefs.last(client).map_or(0, |l| l.tx + u32::from(ended(l)));
    let forever = Duration::from_secs(1 << 20);
    let mut connection = Connection::new(plan.port, Duration::from_millis(15), forever);
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
        std::thread::sleep(forever);
    }
}
