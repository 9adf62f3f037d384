//! Seeded random streams: one seed, split by name, so that adding a consumer never disturbs another.

/// A deterministic random stream (SplitMix64 seeding a xorshift-multiply generator).
#[derive(Clone, Debug)]
pub struct Stream {
    state: u64,
}

/// One round of SplitMix64's finaliser: a well-mixed function of one word.
pub const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
/// A well-mixed function of several words; used where a value must be a pure function of (seed, thread, operation).
#[inline]
pub fn hash(words: &[u64]) -> u64 {
    hash_on(0x243f_6a88_85a3_08d3, words)
}
/// The hash of words before, as [`hash`] gave it, and of these behind them: `hash_on(hash(&[a]), &[b])` is `hash(&[a, b])`.
#[inline]
pub fn hash_on(before: u64, words: &[u64]) -> u64 {
    words
        .iter()
        .fold(before, |h, w| mix(h ^ mix(w.wrapping_add(0x9e37_79b9_7f4a_7c15))))
}
/// The 64-bit FNV-1a hash of a name or a text.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)
    })
}

impl Stream {
    /// The stream called `name` of this seed.
    pub fn new(seed: u64, name: &str) -> Stream {
        Stream {
            state: hash(&[seed, hash_bytes(name.as_bytes())]),
        }
    }
    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }
    /// A number in `0..n` (multiply-shift; the bias is below 2^-32 for every `n` used here). `n` must not be 0.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "below(0)");
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }
    /// True with probability `numerator / denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }
}
