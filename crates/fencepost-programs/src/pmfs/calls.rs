//! The calls: what a program asks of the file system.

/// One call. Names are numbers; bytes are whole words.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Call {
    /// Creates an empty file, unless the name is taken.
    Create {
        /// Its name.
        name: u64,
    },
    /// Writes at the end of a file.
    Append {
        /// Its name.
        name: u64,
        /// Bytes.
        len: u64,
    },
    /// Writes in place, as far as the file goes. Not atomic: a power failure leaves old and new words side by side.
    Overwrite {
        /// Its name.
        name: u64,
        /// The first byte.
        at: u64,
        /// Bytes.
        len: u64,
    },
    /// Reads a file from its beginning to its end, or to `most` bytes.
    Read {
        /// Its name.
        name: u64,
        /// The first byte.
        at: u64,
        /// Bytes, at most.
        most: u64,
    },
    /// Deletes a file.
    Delete {
        /// Its name.
        name: u64,
    },
    /// Gives a file another name, unless that is taken.
    Rename {
        /// Its name.
        from: u64,
        /// The new one.
        to: u64,
    },
    /// Looks a file's size up.
    Stat {
        /// Its name.
        name: u64,
    },
    /// Waits until a file is durable, which it is: every call ends so.
    #[default]
    Sync,
}

impl Call {
    /// The names that it is about.
    pub(super) fn names(self) -> [Option<u64>; 2] {
        match self {
            Call::Create { name }
            | Call::Append { name, .. }
            | Call::Overwrite { name, .. }
            | Call::Read { name, .. }
            | Call::Delete { name }
            | Call::Stat { name } => [Some(name), None],
            Call::Rename { from, to } => [Some(from), Some(to)],
            Call::Sync => [None, None],
        }
    }
    /// Whether it changes directories.
    pub(super) fn of_directories(self) -> bool {
        matches!(self, Call::Create { .. } | Call::Delete { .. } | Call::Rename { .. })
    }
    /// What it has done, for the oracle; 0: nothing.
    pub(super) fn kind(self) -> u8 {
        match self {
            Call::Create { .. } => 1,
            Call::Append { .. } => 2,
            Call::Overwrite { .. } => 3,
            Call::Delete { .. } => 4,
            Call::Rename { .. } => 5,
            Call::Read { .. } | Call::Stat { .. } | Call::Sync => 0,
        }
    }
}

/// Who calls: thread, and operation.
#[derive(Copy, Clone, Debug)]
pub(super) struct Caller {
    pub thread: u32,
    pub k: u32,
}
impl Caller {
    /// The name of the call, unique in the run and never that of what was planted.
    pub(super) fn name(self) -> u64 {
        name_of(self.thread, self.k)
    }
}
/// The name of a thread's call.
pub(super) fn name_of(thread: u32, k: u32) -> u64 {
    (u64::from(thread) + 1) << 24 | (u64::from(k) + 1)
}
