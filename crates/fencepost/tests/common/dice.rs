//! Random numbers, the same on every host.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) struct Dice(u64);
impl Dice {
    /// Those of a seed.
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }
    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % n
    }
}
