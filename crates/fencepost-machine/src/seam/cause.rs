//! Why a thread waits: the causes that every machine has, and those of a design's own.

use fencepost_kernel::stats::StatInfo;

/// The place of a cause in the list of its design. An enum, so that a [`Cause`] is a byte.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // numbers
pub enum OwnCause {
    C0,
    C1,
    C2,
    C3,
    C4,
    C5,
    C6,
    C7,
}
/// Causes that a design may have of its own.
const OWN: [OwnCause; 8] = {
    use OwnCause::{C0, C1, C2, C3, C4, C5, C6, C7};
    [C0, C1, C2, C3, C4, C5, C6, C7]
};

macro_rules! causes {
    ($($(#[doc = $doc:literal])* $cause:ident = $name:literal,)*) => {
        /// Why a thread could not commit. Busy time and these add up to its finish time.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Cause {
            $($(#[doc = $doc])* $cause,)*
            /// A cause that one design has and nobody else: [`Cause::own`].
            Own(OwnCause),
        }
        enum Place { $($cause),* }
        impl Cause {
            /// Names of the causes that every machine has, in the order of their indices.
            pub const NAMES: &'static [&'static str] = &[$($name),*];
            /// What each means, in the same order.
            pub const DOCS: &'static [&'static str] = &[$(concat!($($doc),*).trim_ascii()),*];
            #[cfg(test)]
            const ALL: &'static [Cause] = &[$(Cause::$cause),*];
            /// For indexing arrays that have one entry per cause.
            #[inline]
            pub const fn index(self) -> usize {
                // Apart, so that each case becomes an addition.
                if let Cause::Own(n) = self {
                    return Cause::NAMES.len() + n as usize;
                }
                match self {
                    $(Cause::$cause => Place::$cause as usize,)*
                    Cause::Own(_) => unreachable!(),
                }
            }
        }
    };
}

causes! {
    /// The head of the reorder buffer is still executing non-memory instructions, or nothing was dispatched yet.
    Execute = "execute",
    /// A load waits for a private or shared cache, or for another core's copy.
    LoadCache = "load-cache",
    /// A load waits for memory.
    LoadMemory = "load-memory",
    /// The store queue is full.
    StoreQueueFull = "store-queue-full",
    /// A fence waits for older stores to perform.
    StoreDrain = "store-drain",
    /// An atomic operation waits to perform.
    Atomic = "atomic",
    /// A lock is held by another thread.
    LockWait = "lock-wait",
    /// A fence waits for flushes of this hardware thread.
    FlushPending = "flush-pending",
    /// A fence waits for `pcommit`.
    PcommitPending = "pcommit-pending",
    /// Another core holds the exclusive right to commit.
    CommitExclusive = "commit-exclusive",
    /// The persist buffer has no free entry.
    PersistBufferFull = "persist-buffer-full",
    /// The persist buffer has no free FENCE slot.
    FenceSlots = "fence-slots",
    /// An explicit drain waits for everything before it to become durable.
    DrainPending = "drain-pending",
    /// The L1 is blocked by the design.
    L1Blocked = "l1-blocked",
    /// The write-combining buffer is full.
    WcbFull = "wcb-full",
    /// The write-combining buffer wrapped and is being drained.
    WcbWrap = "wcb-wrap",
    /// A fence waits for acknowledgements of non-temporal stores.
    WcbPending = "wcb-pending",
    /// The write-back buffer is full.
    WbbFull = "wbb-full",
    /// A write-back or transfer waits until older non-temporal stores are durable.
    OrderPending = "order-pending",
    /// The speculation window is full.
    WindowFull = "window-full",
    /// A transaction's log writes are not durable yet.
    LogPending = "log-pending",
    /// A commit waits for its writes to become durable.
    CommitPending = "commit-pending",
    /// No cache way can hold another version.
    VersionPending = "version-pending",
    /// The controller's write queue is full.
    WriteQueueFull = "write-queue-full",
}

impl Cause {
    /// Number of causes, those of a design's own included.
    pub const COUNT: usize = Cause::NAMES.len() + OWN.len();
    /// The cause of a design's own with this place in [`Statistics::causes`](super::Statistics::causes).
    ///
    /// # Panics
    /// If the place is not below 8; in a constant, when it is compiled.
    pub const fn own(place: usize) -> Cause {
        Cause::Own(OWN[place])
    }
    /// Its name, on a machine whose design has these causes of its own.
    pub fn name(self, own: &'static [StatInfo]) -> &'static str {
        Cause::named(self.index(), own)
    }
    /// The name of the cause with this index.
    pub fn named(index: usize, own: &'static [StatInfo]) -> &'static str {
        let own_name = |n: usize| {
            own.get(n)
                .map_or("a cause that the design does not declare", |c| c.name)
        };
        match index.checked_sub(Cause::NAMES.len()) {
            None => Cause::NAMES[index],
            Some(n) => own_name(n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_index_and_its_name() {
        let own: &[StatInfo] = &[StatInfo {
            name: "mine",
            unit: "ps",
            doc: "",
        }];
        for (i, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!((cause.index(), cause.name(own)), (i, Cause::NAMES[i]));
        }
        assert_eq!(
            (Cause::own(0).index(), Cause::own(0).name(own)),
            (Cause::NAMES.len(), "mine")
        );
        assert!(Cause::own(1).name(own).contains("does not declare"));
        assert_eq!(Cause::own(7).index() + 1, Cause::COUNT);
    }
}
