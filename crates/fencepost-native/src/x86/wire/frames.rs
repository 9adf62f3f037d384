//! Messages: words in the order of the CPU. Both ends run on one machine.

use fencepost_kernel::{Addr, EpochId, RemoteEpoch};
use std::io::{self, Read, Write};

const BLOCK: u64 = 0x6670_0000_0000_0001;
const PING: u64 = 0x6670_0000_0000_0002;
const ACK: u64 = 0x6670_0000_0000_0003;
/// Words of a header and of an answer.
const HEADER: usize = 6;
const ANSWER: usize = 3;
/// Bytes of an answer.
pub const ANSWER_BYTES: usize = ANSWER * 8;
/// No block is longer, in words.
const MOST: u64 = 1 << 16;
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
fn get<const N: usize>(input: &mut impl Read) -> io::Result<[u64; N]> {
    let mut out = [0; N];
    for w in &mut out {
        let mut bytes = [0; 8];
        input.read_exact(&mut bytes)?;
        *w = u64::from_le_bytes(bytes);
    }
    Ok(out)
}

/// Appends the message that carries an epoch.
pub fn block(out: &mut Vec<u8>, id: EpochId, epoch: &RemoteEpoch, last: bool, ack: bool) {
    let flags = if last { LAST } else { 0 } | if ack { WITH_ACK } else { 0 };
    let (client, len) = (u64::from(id.client), epoch.words.len() as u64);
    let place = u64::from(id.tx) << 32 | u64::from(id.epoch);
    put(out, &[BLOCK, client, place, flags, epoch.at.0, len]);
    put(out, &epoch.words);
}
/// Sends a message that is only answered.
pub fn ping(to: &mut impl Write) -> io::Result<()> {
    let mut out = Vec::new();
    put(&mut out, &[PING, 0, 0, 0, 0, 0]);
    to.write_all(&out)
}
/// Answers: an epoch is durable, or a ping arrived.
pub fn answer(to: &mut impl Write, id: Option<EpochId>) -> io::Result<()> {
    let mut out = Vec::new();
    match id {
        Some(id) => put(&mut out, &[ACK, id.tx.into(), id.epoch.into()]),
        None => put(&mut out, &[PING, 0, 0]),
    }
    to.write_all(&out)
}
/// Waits for an answer: transaction and epoch, or `None` for that of a ping.
pub fn answered(from: &mut impl Read) -> io::Result<Option<(u32, u32)>> {
    match get::<ANSWER>(from)? {
        [ACK, tx, epoch] => Ok(Some((tx as u32, epoch as u32))),
        [PING, ..] => Ok(None),
        _ => Err(malformed("no answer")),
    }
}

impl Message {
    /// The next message.
    pub fn read(from: &mut impl Read) -> io::Result<Message> {
        let [kind, client, place, flags, at, len] = get::<HEADER>(from)?;
        match kind {
            PING => Ok(Message::Ping),
            BLOCK if client <= u64::from(u8::MAX) && len > 0 && len <= MOST => {
                let mut words = Vec::with_capacity(len as usize);
                for _ in 0..len {
                    words.push(get::<1>(from)?[0]);
                }
                let (client, tx, epoch) = (client as u8, (place >> 32) as u32, place as u32);
                Ok(Message::Block(Block {
                    id: EpochId { client, tx, epoch },
                    last: flags & LAST != 0,
                    ack: flags & WITH_ACK != 0,
                    at: Addr(at),
                    words,
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
        assert_eq!(Message::read(&mut bytes.as_slice()).unwrap(), expected);
        assert!(Message::read(&mut &bytes[..bytes.len() - 1]).is_err());
        bytes[40..48].copy_from_slice(&(MOST + 1).to_le_bytes());
        assert_eq!(
            Message::read(&mut bytes.as_slice()).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        let mut back = Vec::new();
        answer(&mut back, Some(id)).unwrap();
        assert_eq!(
            (back.len(), answered(&mut back.as_slice()).unwrap()),
            (ANSWER_BYTES, Some((tx, epoch)))
        );
    }
}
