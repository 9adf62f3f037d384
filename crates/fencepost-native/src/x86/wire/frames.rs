//! Messages: words in the order of the CPU. Both ends run on one machine.

use fencepost_kernel::{Addr, EpochId, RemoteEpoch};
use std::io;

const BLOCK: u64 = 0x6670_0000_0000_0001;
const PING: u64 = 0x6670_0000_0000_0002;
const ACK: u64 = 0x6670_0000_0000_0003;
/// Words before those of a block.
const HEADER: usize = 5;
const LAST: u64 = 1;
const WITH_ACK: u64 = 2;

/// A block of a client: one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
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
pub enum Message {
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

/// The message that carries an epoch replaces what `out` held.
pub fn block(out: &mut Vec<u8>, id: EpochId, epoch: &RemoteEpoch, last: bool, ack: bool) {
    let flags = if last { LAST } else { 0 } | if ack { WITH_ACK } else { 0 };
    let place = u64::from(id.tx) << 32 | u64::from(id.epoch);
    out.clear();
    put(out, &[BLOCK, id.client.into(), place, flags, epoch.at.0]);
    put(out, &epoch.words);
}
/// A message that is only answered.
pub fn ping() -> Vec<u8> {
    PING.to_le_bytes().to_vec()
}
/// An answer: an epoch is durable, or a ping arrived.
pub fn answer(id: Option<EpochId>) -> Vec<u8> {
    let Some(id) = id else { return ping() };
    let mut out = Vec::new();
    put(&mut out, &[ACK, id.tx.into(), id.epoch.into()]);
    out
}
/// What an answer says: transaction and epoch, or `None` if it is that of a ping.
pub fn answered(message: &[u8]) -> io::Result<Option<(u32, u32)>> {
    match words(message)?[..] {
        [ACK, tx, epoch] => Ok(Some((tx as u32, epoch as u32))),
        [PING] => Ok(None),
        _ => Err(malformed("no answer")),
    }
}

impl Message {
    /// What a message says.
    pub fn read(message: &[u8]) -> io::Result<Message> {
        let mut all = words(message)?;
        match all[..] {
            [PING] => Ok(Message::Ping),
            [BLOCK, client @ 0..=255, place, flags, at, _, ..] => {
                let (client, tx, epoch) = (client as u8, (place >> 32) as u32, place as u32);
                Ok(Message::Block(Block {
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
        block(&mut bytes, id, &sent, true, false);
        let (last, ack, at) = (true, false, sent.at);
        let expected = Message::Block(Block {
            id,
            last,
            ack,
            at,
            words,
        });
        assert_eq!(Message::read(&bytes).unwrap(), expected);
        // A part of a word, a header alone, a client that no connection has.
        let mut other = bytes.clone();
        other[9] = 1;
        for wrong in [&bytes[..bytes.len() - 1], &bytes[..HEADER * 8], &other, &[]] {
            let why = Message::read(wrong).unwrap_err();
            assert_eq!(why.kind(), io::ErrorKind::InvalidData);
        }
        assert_eq!(answered(&answer(Some(id))).unwrap(), Some((tx, epoch)));
        assert_eq!(answered(&answer(None)).unwrap(), None);
        assert!(answered(&bytes).is_err());
    }
}
