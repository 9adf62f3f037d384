//! Fences, and the one table of what each of them does.
//!
//! The core, the contracts, random programs and the test kit read [`Fence::properties`]; none of them lists fences of its own. A design
//! that needs an instruction which is not here numbers one of its own ([`Fence::Own`]), which carries its properties with it.

use std::fmt;
use std::str::FromStr;

/// Fences and persistence barriers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Fence {
    /// x86 `sfence`: orders stores, flushes and non-temporal stores.
    Sfence,
    /// x86 `mfence`: orders everything.
    Mfence,
    /// Arm full data memory barrier.
    Dmb,
    /// Arm store-store barrier.
    DmbSt,
    /// Arm data synchronisation barrier: also waits for outstanding cleans; on delegated ordering, drains the persist path.
    Dsb,
    /// The withdrawn x86 `pcommit`: asks the persistent-memory controller to make accepted writes durable.
    Pcommit,
    /// Persist barrier of epoch persistency.
    PersistBarrier,
    /// Start of a new strand (strand persistency).
    NewStrand,
    /// An instruction that one design has and nobody else.
    Own(OwnFence),
}

/// Whose vocabulary a fence belongs to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Family {
    /// x86.
    X86,
    /// Arm.
    Arm,
    /// Proposed hardware: barriers of persistency models and of single designs.
    Proposed,
}

/// What a fence does, as far as it concerns more than its design.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FenceProperties {
    /// Whose it is.
    pub family: Family,
    /// Younger loads of its thread wait for it.
    pub orders_loads: bool,
    /// Other threads see the older stores of its thread before the younger ones.
    pub orders_stores: bool,
    /// What its thread persisted before it is durable before what it persists after it; it therefore waits for older stores.
    pub orders_persists: bool,
    /// It completes the flushes and non-temporal stores before it.
    pub completes_flushes: bool,
    /// It asks for durability of what is before it.
    pub drains: bool,
}

impl FenceProperties {
    /// Does nothing outside of its design: where the properties of an own fence begin, to be changed with `..`.
    pub const NOTHING: FenceProperties = FenceProperties {
        family: Family::Proposed,
        orders_loads: false,
        orders_stores: false,
        orders_persists: false,
        completes_flushes: false,
        drains: false,
    };
}

/// One line of the table: family, then whether it orders loads, stores and persists, completes flushes, drains.
const fn row(family: Family, [loads, stores, persists, flushes, drains]: [u8; 5]) -> FenceProperties {
    FenceProperties {
        family,
        orders_loads: loads != 0,
        orders_stores: stores != 0,
        orders_persists: persists != 0,
        completes_flushes: flushes != 0,
        drains: drains != 0,
    }
}

/// Every fence that has a name, in the order of the variants.
#[rustfmt::skip]
const TABLE: [(Fence, &str, FenceProperties); 8] = [
    //                                                 orders: loads, stores, persists; completes flushes; drains
    (Fence::Sfence,         "sfence",          row(Family::X86,      [0, 1, 1, 1, 0])),
    (Fence::Mfence,         "mfence",          row(Family::X86,      [1, 1, 1, 1, 0])),
    (Fence::Dmb,            "dmb",             row(Family::Arm,      [1, 1, 1, 0, 0])),
    (Fence::DmbSt,          "dmb.st",          row(Family::Arm,      [0, 1, 1, 0, 0])),
    (Fence::Dsb,            "dsb",             row(Family::Arm,      [1, 1, 1, 1, 1])),
    (Fence::Pcommit,        "pcommit",         row(Family::X86,      [0, 0, 0, 0, 1])),
    (Fence::PersistBarrier, "persist-barrier", row(Family::Proposed, [0, 0, 1, 0, 0])),
    (Fence::NewStrand,      "new-strand",      row(Family::Proposed, [0, 0, 0, 0, 0])),
];

impl Fence {
    /// Every kind that has a name.
    pub const ALL: [Fence; TABLE.len()] = {
        let mut all = [Fence::Sfence; TABLE.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = TABLE[i].0;
            i += 1;
        }
        all
    };
    /// One more than the greatest [`Fence::index`].
    pub const COUNT: usize = TABLE.len() + (u8::MAX as usize) + 1;

    /// An instruction of a design's own, with a number below 8 that tells it from the design's others.
    ///
    /// # Panics
    /// If the number is not below 8; in a constant, when it is compiled.
    pub const fn own(number: u8, properties: FenceProperties) -> Fence {
        assert!(number < 8, "a design has at most eight fences of its own");
        let p = properties;
        let bits = [
            p.orders_loads,
            p.orders_stores,
            p.orders_persists,
            p.completes_flushes,
            p.drains,
        ];
        let (mut code, mut i) = (number, 0);
        while i < bits.len() {
            code |= (bits[i] as u8) << (3 + i);
            i += 1;
        }
        Fence::Own(OwnFence(code))
    }
    /// For indexing arrays of [`Fence::COUNT`] entries.
    #[inline]
    pub const fn index(self) -> usize {
        // Apart, so that the others need no table.
        if let Fence::Own(own) = self {
            return TABLE.len() + own.0 as usize;
        }
        match self {
            Fence::Sfence => 0,
            Fence::Mfence => 1,
            Fence::Dmb => 2,
            Fence::DmbSt => 3,
            Fence::Dsb => 4,
            Fence::Pcommit => 5,
            Fence::PersistBarrier => 6,
            Fence::NewStrand => 7,
            Fence::Own(_) => unreachable!(),
        }
    }
    /// The fence with this index.
    pub fn at_index(index: usize) -> Option<Fence> {
        match TABLE.get(index) {
            Some(row) => Some(row.0),
            None => u8::try_from(index - TABLE.len())
                .ok()
                .map(|code| Fence::Own(OwnFence(code))),
        }
    }
    /// What it does.
    #[inline]
    pub const fn properties(self) -> FenceProperties {
        match self {
            Fence::Own(own) => own.properties(),
            named => TABLE[named.index()].2,
        }
    }
}

/// A fence of a design's own: its number and its properties, in a byte.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct OwnFence(u8);

impl OwnFence {
    /// Tells it from the design's other ones.
    pub const fn number(self) -> u8 {
        self.0 & 7
    }
    const fn properties(self) -> FenceProperties {
        FenceProperties {
            family: Family::Proposed,
            orders_loads: self.0 & 8 != 0,
            orders_stores: self.0 & 16 != 0,
            orders_persists: self.0 & 32 != 0,
            completes_flushes: self.0 & 64 != 0,
            drains: self.0 & 128 != 0,
        }
    }
}
impl fmt::Debug for OwnFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

/// How logs write it: `sfence`; an own one with a letter for each property, `own-3:lspfd`.
impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fence::Own(own) = self else {
            return f.write_str(TABLE[self.index()].1);
        };
        write!(f, "own-{}:", own.number())?;
        let set = LETTERS.chars().enumerate().filter(|(i, _)| own.0 >> (3 + i) & 1 != 0);
        set.map(|(_, letter)| letter)
            .try_for_each(|letter| write!(f, "{letter}"))
    }
}
/// Orders loads, stores, persists; completes flushes; drains.
const LETTERS: &str = "lspfd";

/// No fence is written so.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct UnknownFence;

impl FromStr for Fence {
    type Err = UnknownFence;
    fn from_str(text: &str) -> Result<Fence, UnknownFence> {
        if let Some(row) = TABLE.iter().find(|r| r.1 == text) {
            return Ok(row.0);
        }
        let (number, letters) = text
            .strip_prefix("own-")
            .and_then(|t| t.split_once(':'))
            .ok_or(UnknownFence)?;
        let mut code: u8 = number.parse().ok().filter(|n| *n < 8).ok_or(UnknownFence)?;
        for letter in letters.chars() {
            code |= 1 << (3 + LETTERS.find(letter).ok_or(UnknownFence)?);
        }
        Ok(Fence::Own(OwnFence(code)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fence_has_its_place_and_is_read_as_it_is_written() {
        for index in 0..Fence::COUNT {
            let fence = Fence::at_index(index).expect("an index below the count");
            assert_eq!(fence.index(), index);
            assert_eq!(fence.to_string().parse(), Ok(fence));
        }
        assert_eq!(Fence::at_index(Fence::COUNT), None);
        for wrong in ["", "fence", "own-8:", "own-1", "own-1:x"] {
            assert_eq!(wrong.parse::<Fence>(), Err(UnknownFence));
        }
    }
    #[test]
    fn an_own_fence_has_the_properties_that_it_was_given() {
        for bits in 0..32 {
            let given = row(Family::Proposed, [0, 1, 2, 3, 4].map(|i| bits >> i & 1));
            let fence = Fence::own(5, given);
            assert_eq!(fence.properties(), given);
            assert_ne!(fence, Fence::own(4, given));
        }
        let join = Fence::own(
            2,
            FenceProperties {
                drains: true,
                ..FenceProperties::NOTHING
            },
        );
        assert_eq!(
            (join.to_string(), format!("{join:?}")),
            ("own-2:d".into(), "Own(2)".into())
        );
    }
}
