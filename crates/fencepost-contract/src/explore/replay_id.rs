//! Replay ids: one crash state in a short string.

use crate::graph::NodeId;

/// From which end the witness is reached by the fewest changes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Deviation {
    /// Everything executed is durable but for [`super::Witness::missing`].
    Missing,
    /// Nothing is durable beyond what must be, but for [`super::Witness::persisted`].
    Persisted,
}

/// A crash state, relative to its failure point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayId {
    /// Index of the failure point in [`crate::CrashSpace::points`].
    pub point: u32,
    /// Whether `nodes` are lost (all else durable) or durable (all else lost).
    pub deviation: Deviation,
    /// The deviating nodes, ascending.
    pub nodes: Vec<NodeId>,
    /// Low 32 bits of the persist order's digest.
    pub digest: u32,
}

/// Why a replay id cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// There is no colon between prefix and state.
    #[error("`{0}` is no replay id: it must end in a colon and the encoded crash state")]
    NoState(String),
    /// A letter outside the alphabet.
    #[error("`{letter}` (letter {position} after the last colon) does not occur in replay ids; was the id cut off?")]
    BadLetter {
        /// The letter.
        letter: char,
        /// Its position, from 1.
        position: usize,
    },
    /// The id was shortened or altered.
    #[error("the replay id is damaged: its check letters do not match; copy it again, whole")]
    Damaged,
    /// The id belongs to another execution.
    #[error("the replay id belongs to another execution (program, options, seed or version differ): {0}")]
    OtherExecution(&'static str),
    /// Recovery could not be run properly.
    #[error(transparent)]
    Explore(#[from] super::search::ExploreError),
}

/// Letters of five bits each, without those that are easily confused.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl ReplayId {
    /// The id as a string: `prefix`, a colon, the state. The prefix is the caller's (program, design, seed, ..); the check
    /// part at the end covers it too.
    pub fn encode(&self, prefix: &str) -> String {
        let before = format!("{prefix}:");
        self.append(before)
    }
    /// The id of a state that recovery from the state `outer` leaves when the power fails again.
    pub fn encode_again(&self, outer: &str) -> String {
        self.append(format!("{outer}~"))
    }
    fn append(&self, before: String) -> String {
        let mut bytes = Vec::new();
        put(
            &mut bytes,
            u64::from(self.point) << 1 | u64::from(self.deviation == Deviation::Persisted),
        );
        bytes.extend(self.digest.to_le_bytes());
        put(&mut bytes, self.nodes.len() as u64);
        let mut next = 0;
        for node in &self.nodes {
            put(&mut bytes, u64::from(node.0 - next));
            next = node.0 + 1;
        }
        bytes.extend(check_part(&before, &bytes).to_le_bytes());
        before + &to_letters(&bytes)
    }
    /// The prefix and the state of an id; of an id with two states, the first one.
    pub fn decode(id: &str) -> Result<(&str, ReplayId), ReplayError> {
        let (outer, _) = Self::split(id)?;
        let at = outer.rfind(':').ok_or_else(|| ReplayError::NoState(id.into()))?;
        Ok((&outer[..at], Self::decode_part(&outer[..=at], &outer[at + 1..])?))
    }
    /// The state in the middle of recovery, where the id names one.
    pub fn decode_again(id: &str) -> Result<Option<ReplayId>, ReplayError> {
        let (outer, inner) = Self::split(id)?;
        let before = &id.trim()[..outer.len() + usize::from(inner.is_some())];
        inner.map(|inner| Self::decode_part(before, inner)).transpose()
    }
    /// The id up to the first state, and the text of the second one.
    fn split(id: &str) -> Result<(&str, Option<&str>), ReplayError> {
        let id = id.trim();
        let at = id.rfind(':').ok_or_else(|| ReplayError::NoState(id.into()))?;
        Ok(match id[at..].find('~') {
            Some(tilde) => (&id[..at + tilde], Some(&id[at + tilde + 1..])),
            None => (id, None),
        })
    }
    fn decode_part(before: &str, letters: &str) -> Result<ReplayId, ReplayError> {
        let bytes = from_letters(letters)?;
        let (body, sum) = bytes.split_last_chunk::<4>().ok_or(ReplayError::Damaged)?;
        if check_part(before, body) != u32::from_le_bytes(*sum) {
            return Err(ReplayError::Damaged);
        }
        Self::parse(body).ok_or(ReplayError::Damaged)
    }
    fn parse(mut body: &[u8]) -> Option<ReplayId> {
        let head = take(&mut body)?;
        let (digest, rest) = body.split_first_chunk::<4>()?;
        body = rest;
        let count = take(&mut body)?;
        let (mut nodes, mut next) = (Vec::new(), 0u32);
        for _ in 0..count {
            let node = next.checked_add(u32::try_from(take(&mut body)?).ok()?)?;
            nodes.push(NodeId(node));
            next = node.checked_add(1)?;
        }
        let deviation = if head & 1 == 1 {
            Deviation::Persisted
        } else {
            Deviation::Missing
        };
        let point = u32::try_from(head >> 1).ok()?;
        body.is_empty().then_some(ReplayId {
            point,
            deviation,
            nodes,
            digest: u32::from_le_bytes(*digest),
        })
    }
}

/// Appends seven bits a byte, lowest first; the top bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
/// What an id must end in, given everything before.
fn check_part(before: &str, bytes: &[u8]) -> u32 {
    let fold = |h: u64, b: &u8| fencepost_kernel::rng::mix(h << 8 ^ u64::from(*b));
    before.as_bytes().iter().chain(bytes).fold(0x1d0f, fold) as u32
}
/// The check part of a text, in letters: ids of other kinds end in it too.
pub fn check_letters(text: &str) -> String {
    to_letters(&check_part(text, &[]).to_le_bytes())
}
fn to_letters(bytes: &[u8]) -> String {
    let bit = |i: usize| bytes.get(i / 8).map_or(0, |b| b >> (i % 8) & 1);
    let letters = (0..(bytes.len() * 8).div_ceil(5)).map(|l| (0..5).fold(0, |v, i| v | bit(l * 5 + i) << i));
    letters.map(|v| LETTERS[usize::from(v)] as char).collect()
}
fn from_letters(text: &str) -> Result<Vec<u8>, ReplayError> {
    let mut bytes = vec![0u8; text.len() * 5 / 8];
    for (l, letter) in text.chars().enumerate() {
        let value = LETTERS.iter().position(|c| *c as char == letter.to_ascii_lowercase());
        let value = value.ok_or(ReplayError::BadLetter {
            letter,
            position: l + 1,
        })?;
        for i in (0..5).filter(|i| value >> i & 1 == 1) {
            // Bits beyond the last whole byte are padding and must be clear.
            *bytes.get_mut((l * 5 + i) / 8).ok_or(ReplayError::Damaged)? |= 1 << ((l * 5 + i) % 8);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Stream;

    #[test]
    fn ids_come_back_as_they_went() {
        let mut rng = Stream::new(7, "replay");
        for _ in 0..2_000 {
            let mut nodes: Vec<NodeId> = (0..rng.below(40)).map(|_| NodeId(rng.below(100_000) as u32)).collect();
            nodes.sort();
            nodes.dedup();
            let deviation = if rng.chance(1, 2) {
                Deviation::Missing
            } else {
                Deviation::Persisted
            };
            let id = ReplayId {
                point: rng.below(9_999) as u32,
                deviation,
                nodes,
                digest: rng.next_u64() as u32,
            };
            let text = id.encode("sps:so-adr:seed=3");
            assert_eq!(ReplayId::decode(&text), Ok(("sps:so-adr:seed=3", id.clone())), "{text}");
            assert_eq!(ReplayId::decode_again(&text), Ok(None));
            let second = ReplayId { point: 3, ..id.clone() };
            let both = second.encode_again(&text);
            assert_eq!(ReplayId::decode(&both), Ok(("sps:so-adr:seed=3", id)), "{both}");
            assert_eq!(ReplayId::decode_again(&both), Ok(Some(second)));
        }
    }
    #[test]
    fn damage_is_noticed() {
        let nodes = [3, 9, 70_000].map(NodeId).to_vec();
        let id = ReplayId {
            point: 5,
            deviation: Deviation::Missing,
            nodes,
            digest: 77,
        }
        .encode("p");
        for i in 0..id.len() {
            for letter in ["0", "7", "z"] {
                let mut text = id.clone();
                text.replace_range(i..=i, letter);
                assert!(text == id || ReplayId::decode(&text).is_err(), "{text} passes for {id}");
            }
            assert!(ReplayId::decode(&id[..i]).is_err());
        }
        let bad = ReplayError::BadLetter {
            letter: 'u',
            position: 3,
        };
        assert_eq!(ReplayId::decode("p:00u0"), Err(bad));
        assert!(matches!(ReplayId::decode("sps"), Err(ReplayError::NoState(_))));
    }
}
