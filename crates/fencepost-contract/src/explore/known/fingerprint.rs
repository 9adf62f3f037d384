//! Fingerprints of how words look.

/// 128 bits: among the billions of views one exploration can hold, the chance of any collision is below 2^-64.
#[derive(Default)]
pub(super) struct Fingerprint(u128);
impl Fingerprint {
    pub(super) fn value(&self) -> u128 {
        self.0
    }
    pub(super) fn add(&mut self, kind: u64, value: u64) {
        const ODD: u128 = 0x2d35_8dcc_aa6c_78a5_9e37_79b9_7f4a_7c15;
        let mixed = (self.0 ^ u128::from(value) ^ u128::from(kind) << 64)
            .wrapping_add(1)
            .wrapping_mul(ODD);
        self.0 = mixed ^ mixed >> 67;
    }
}
