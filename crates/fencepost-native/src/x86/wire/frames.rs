//! Messages: words in the order of the CPU. Both ends run on one machine.

use crate::wire::Next;
use fencepost_kernel::{Addr, EpochId, RemoteEpoch};
use std::io;

const BLOCK: u64 = 0x6670_0000_0000_0001;
const PING: u64 = 0x6670_0000_0000_0002;
const ACK: u64 = 0x6670_0000_0000_0003;
const HELLO: u64 = 0x6670_0000_0000_0004;
const CHALLENGE: u64 = 0x6670_0000_0000_0005;
const PROOF: u64 = 0x6670_0000_0000_0006;
const WELCOME: u64 = 0x6670_0000_0000_0007;
const REFUSED: u64 = 0x6670_0000_0000_0008;
/// Version of the protocol.
const VERSION: u64 = 2;
/// Words before those of a block.
const HEADER: usize = 6;
const LAST: u64 = 1;
const WITH_ACK: u64 = 2;

/// 32 bytes that nobody guesses: a challenge, or the answer to one.
pub(super) type Secret32 = [u64; 4];
/// What a client proves to be the same by.
pub(super) type Key = [u64; 2];

/// Who connects.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    /// Client.
    pub client: u8,
    /// Its key: that of its first connection ever.
    pub key: Key,
}

/// What a client that is admitted is told.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Welcome {
    /// The session: the only one of its client from now on.
    pub session: u64,
    /// The next epoch that is expected of it.
    pub next: Next,
}

/// Why a client is not admitted.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It does not have the server's token.
    Token = 1,
    /// Another client has its number.
    Key = 2,
    /// The server has no such client.
    Client = 3,
}
impl Refusal {
    /// The same in words.
    pub(super) fn text(self) -> &'static str {
        match self {
            Refusal::Token => "the token is not that of the server",
            Refusal::Key => "another client has its number: the key is not that of its first connection",
            Refusal::Client => "it has no client of this number",
        }
    }
}

/// A block of a client: one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The session that it belongs to.
    pub session: u64,
    /// Which.
    pub id: EpochId,
    /// The last of its transaction.
    pub last: bool,
    /// Whether the client waits for its acknowledgement.
    pub ack: bool,
    /// Where it goes.
    pub at: Addr,
    /// What.
    pub words: Vec<u64>,
}

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// To be made durable.
    Block(Block),
    /// To be answered at once.
    Ping,
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
fn put(out: &mut Vec<u8>, words: &[u64]) {
    out.extend(words.iter().flat_map(|w| w.to_le_bytes()));
}
fn words(message: &[u8]) -> io::Result<Vec<u64>> {
    let (words, rest) = message.as_chunks();
    match rest {
        [] => Ok(words.iter().map(|w| u64::from_le_bytes(*w)).collect()),
        _ => Err(malformed("no whole words")),
    }
}

/// A client's first message.
pub(super) fn hello(of: Hello) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, &[HELLO, VERSION, of.client.into(), of.key[0], of.key[1]]);
    out
}
/// What it says.
pub(super) fn read_hello(message: &[u8]) -> io::Result<Hello> {
    match words(message)?[..] {
        [HELLO, VERSION, client @ 0..=255, a, b] => Ok(Hello {
            client: client as u8,
            key: [a, b],
        }),
        _ => Err(malformed("no greeting of this version")),
    }
}
fn secret(kind: u64, of: &Secret32) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, &[kind]);
    put(&mut out, of);
    out
}
fn read_secret(kind: u64, message: &[u8]) -> io::Result<Secret32> {
    match words(message)?[..] {
        [k, a, b, c, d] if k == kind => Ok([a, b, c, d]),
        _ => Err(malformed("no part of a greeting")),
    }
}
/// The server's answer to a greeting.
pub(super) fn challenge(of: &Secret32) -> Vec<u8> {
    secret(CHALLENGE, of)
}
/// What it says.
pub(super) fn read_challenge(message: &[u8]) -> io::Result<Secret32> {
    read_secret(CHALLENGE, message)
}
/// A client's answer to a challenge.
pub(super) fn proof(of: &Secret32) -> Vec<u8> {
    secret(PROOF, of)
}
/// What it says.
pub(super) fn read_proof(message: &[u8]) -> io::Result<Secret32> {
    read_secret(PROOF, message)
}
/// How a greeting ends.
pub(super) fn ended(with: Result<Welcome, Refusal>) -> Vec<u8> {
    let mut out = Vec::new();
    match with {
        Ok(Welcome { session, next }) => put(&mut out, &[WELCOME, session, next.0.into(), next.1.into()]),
        Err(why) => put(&mut out, &[REFUSED, why as u64]),
    }
    out
}
/// What it says.
pub(super) fn read_ended(message: &[u8]) -> io::Result<Result<Welcome, Refusal>> {
    let number = |w: u64| u32::try_from(w).map_err(|_| malformed("a number that no client has"));
    match words(message)?[..] {
        [WELCOME, session, tx, epoch] => Ok(Ok(Welcome {
            session,
            next: (number(tx)?, number(epoch)?),
        })),
        [REFUSED, why] => {
            let all = [Refusal::Token, Refusal::Key, Refusal::Client];
            let refusal = all.into_iter().find(|r| *r as u64 == why);
            refusal.map(Err).ok_or_else(|| malformed("no refusal"))
        }
        _ => Err(malformed("no end of a greeting")),
    }
}
/// The message that carries an epoch replaces what `out` held.
pub(super) fn block(out: &mut Vec<u8>, session: u64, id: EpochId, epoch: &RemoteEpoch, (last, ack): (bool, bool)) {
    let flags = if last { LAST } else { 0 } | if ack { WITH_ACK } else { 0 };
    let place = u64::from(id.tx) << 32 | u64::from(id.epoch);
    out.clear();
    put(out, &[BLOCK, session, id.client.into(), place, flags, epoch.at.0]);
    put(out, &epoch.words);
}
/// A message that is only answered.
pub(super) fn ping() -> Vec<u8> {
    PING.to_le_bytes().to_vec()
}
/// An answer: an epoch is durable, or a ping arrived.
pub(super) fn answer(id: Option<EpochId>) -> Vec<u8> {
    let Some(id) = id else { return ping() };
    let mut out = Vec::new();
    put(&mut out, &[ACK, id.tx.into(), id.epoch.into()]);
    out
}
/// What an answer says: transaction and epoch, or `None` if it is that of a ping.
pub(super) fn answered(message: &[u8]) -> io::Result<Option<(u32, u32)>> {
    match words(message)?[..] {
        [ACK, tx, epoch] => match (u32::try_from(tx), u32::try_from(epoch)) {
            (Ok(tx), Ok(epoch)) => Ok(Some((tx, epoch))),
            _ => Err(malformed("the answer of no epoch")),
        },
        [PING] => Ok(None),
        _ => Err(malformed("no answer")),
    }
}

impl Message {
    /// What a message says.
    pub(super) fn read(message: &[u8]) -> io::Result<Message> {
        let mut all = words(message)?;
        match all[..] {
            [PING] => Ok(Message::Ping),
            [BLOCK, session, client @ 0..=255, place, flags, at, _, ..] => {
                let (client, tx, epoch) = (client as u8, (place >> 32) as u32, place as u32);
                Ok(Message::Block(Block {
                    session,
                    id: EpochId { client, tx, epoch },
                    last: flags & LAST != 0,
                    ack: flags & WITH_ACK != 0,
                    at: Addr(at),
                    words: all.split_off(HEADER),
                }))
            }
            _ => Err(malformed("no message")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_sent_and_nothing_else_is_one() {
        let (client, tx, epoch) = (3, 70_000, 2);
        let id = EpochId { client, tx, epoch };
        let words = vec![1, u64::MAX, 3];
        let sent = RemoteEpoch {
            at: Addr::pm(4096),
            words: words.clone().into(),
        };
        let mut bytes = Vec::new();
        block(&mut bytes, 77, id, &sent, (true, false));
        let (last, ack, at) = (true, false, sent.at);
        let expected = Message::Block(Block {
            session: 77,
            id,
            last,
            ack,
            at,
            words,
        });
        assert_eq!(Message::read(&bytes).unwrap(), expected);
        // A part of a word, a header alone, a client that no connection has.
        let mut other = bytes.clone();
        other[17] = 1;
        for wrong in [&bytes[..bytes.len() - 1], &bytes[..HEADER * 8], &other, &[]] {
            let why = Message::read(wrong).unwrap_err();
            assert_eq!(why.kind(), io::ErrorKind::InvalidData);
        }
        assert_eq!(answered(&answer(Some(id))).unwrap(), Some((tx, epoch)));
        assert_eq!(answered(&answer(None)).unwrap(), None);
        assert!(answered(&bytes).is_err());
        let mut wide = Vec::new();
        put(&mut wide, &[ACK, 1 << 32, 0]);
        assert!(answered(&wide).is_err(), "numbers do not wrap");
    }

    #[test]
    fn greetings_are_read_as_they_were_sent() {
        let of = Hello {
            client: 3,
            key: [1, u64::MAX],
        };
        assert_eq!(read_hello(&hello(of)).unwrap(), of);
        let four = [1, 2, 3, u64::MAX];
        assert_eq!(read_challenge(&challenge(&four)).unwrap(), four);
        assert_eq!(read_proof(&proof(&four)).unwrap(), four);
        assert!(read_proof(&challenge(&four)).is_err() && read_hello(&proof(&four)).is_err());
        let welcome = Welcome {
            session: 9,
            next: (u32::MAX, 2),
        };
        for end in [
            Ok(welcome),
            Err(Refusal::Token),
            Err(Refusal::Key),
            Err(Refusal::Client),
        ] {
            assert_eq!(read_ended(&ended(end)).unwrap(), end);
        }
        let mut wide = Vec::new();
        put(&mut wide, &[WELCOME, 9, 1 << 32, 0]);
        assert!(read_ended(&wide).is_err());
    }
}
