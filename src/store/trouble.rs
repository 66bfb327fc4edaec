//! What can be wrong with a store as a whole, by name: for those who carry on in spite of it.

/// A state of the store in which work has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trouble {
    /// Nobody answers, or the connection broke.
    Connection,
    /// It does not answer in time.
    Timeout,
    /// It reads its data in, or is busy with a script.
    Loading,
    /// It is a replica now.
    ReadOnly,
    /// It is at its memory limit.
    OutOfMemory,
    /// It takes no writes: its disk is full, or its replicas are away.
    WritesRefused,
    /// It refuses user or password.
    Credentials,
    /// It refuses a command to this account.
    NoPermission,
    /// The index is not there.
    NoIndex,
    /// The index is being built.
    Indexing,
    /// It is not what the settings say: other fields, no search module, a cluster.
    Unfit,
}

impl Trouble {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::Connection,
        Self::Timeout,
        Self::Loading,
        Self::ReadOnly,
        Self::OutOfMemory,
        Self::WritesRefused,
        Self::Credentials,
        Self::NoPermission,
        Self::NoIndex,
        Self::Indexing,
        Self::Unfit,
    ];

    /// The stable name, such as `out-of-memory`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Timeout => "timeout",
            Self::Loading => "loading",
            Self::ReadOnly => "read-only",
            Self::OutOfMemory => "out-of-memory",
            Self::WritesRefused => "writes-refused",
            Self::Credentials => "credentials",
            Self::NoPermission => "no-permission",
            Self::NoIndex => "no-index",
            Self::Indexing => "indexing",
            Self::Unfit => "unfit",
        }
    }

    /// Whether it passes by itself on the connection that there is. Else everything is to be opened
    /// anew: the connection, another server, or what was read of the index.
    pub fn passes(self) -> bool {
        match self {
            Self::OutOfMemory
            | Self::WritesRefused
            | Self::NoPermission
            | Self::NoIndex
            | Self::Indexing => true,
            Self::Connection
            | Self::Timeout
            | Self::Loading
            | Self::ReadOnly
            | Self::Credentials
            | Self::Unfit => false,
        }
    }
}
