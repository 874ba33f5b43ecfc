//! Local failures, which void the fetch that they affect and are never an outcome.

use std::io;

use crate::outcome::Outcome;

macro_rules! local_failures {
    ($($(#[$doc:meta])* $variant:ident $name:literal $message:literal;)+) => {
        /// A failure of this host or its network, which voids the fetch that it affects.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
        pub enum LocalFailure { $($(#[$doc])* #[error($message)] $variant,)+ }

        impl LocalFailure {
            /// Every local failure, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the stable name, in snake case.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

local_failures! {
    /// The process or the system has no free file descriptor (EMFILE, ENFILE).
    FileDescriptors "file_descriptors"
        "no file descriptor left (raise the open-file limit, or lower the fetches in flight)";
    /// The kernel has no memory for a socket (ENOBUFS, ENOMEM).
    Memory "memory"
        "the kernel has no memory left for sockets";
    /// The host has no route to the network (ENETUNREACH, ENETDOWN).
    NetworkUnreachable "network_unreachable"
        "this host has no route to the network";
    /// There is no local port or address to dial from (EADDRNOTAVAIL).
    LocalPorts "local_ports"
        "no local port left to dial from";
    /// The resolver does not respond at all.
    ResolverUnreachable "resolver_unreachable"
        "the resolver does not respond";
    /// The resolver reports that an existing name does not exist, or has an address for a name that
    /// does not exist.
    ResolverFalse "resolver_false"
        "the resolver returns false results";
    /// The process was frozen or asleep during a fetch.
    Stalled "stalled"
        "this process was stalled while fetching";
    /// Most of the recent origins failed as they would on a broken local network.
    MostOriginsFail "most_origins_fail"
        "most of the last origins failed to resolve or to connect";
    /// A write to the directory for temporary files failed, or the spool is full.
    Spool "spool"
        "the spool of icon bodies is full or cannot be written";
}

impl LocalFailure {
    /// Returns the local failure for an error of the operating system. `None` if the peer caused
    /// the error.
    pub fn of_io(error: &io::Error) -> Option<Self> {
        match error.raw_os_error()? {
            libc::EMFILE | libc::ENFILE => Some(Self::FileDescriptors),
            libc::ENOBUFS | libc::ENOMEM => Some(Self::Memory),
            libc::ENETUNREACH | libc::ENETDOWN => Some(Self::NetworkUnreachable),
            libc::EADDRNOTAVAIL => Some(Self::LocalPorts),
            _ => None,
        }
    }

    /// Returns whether a void icon fetch may run again after a few seconds. A false resolver result
    /// voids the whole shard.
    pub(crate) fn may_pass(self) -> bool {
        self != Self::ResolverFalse
    }

    pub(crate) fn is_of_resolver(self) -> bool {
        matches!(self, Self::ResolverUnreachable | Self::ResolverFalse)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Outcome(Outcome),
    LocalFailure(LocalFailure),
}

impl From<Outcome> for Stop {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

impl From<LocalFailure> for Stop {
    fn from(failure: LocalFailure) -> Self {
        Self::LocalFailure(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_errors_are_local_failures_and_the_peers_are_not() {
        let of = |errno| LocalFailure::of_io(&io::Error::from_raw_os_error(errno));
        assert_eq!(of(libc::EMFILE), Some(LocalFailure::FileDescriptors));
        assert_eq!(of(libc::ENFILE), Some(LocalFailure::FileDescriptors));
        assert_eq!(of(libc::ENOBUFS), Some(LocalFailure::Memory));
        assert_eq!(of(libc::ENETUNREACH), Some(LocalFailure::NetworkUnreachable));
        assert_eq!(of(libc::EADDRNOTAVAIL), Some(LocalFailure::LocalPorts));
        for errno in [libc::ECONNREFUSED, libc::ECONNRESET, libc::ETIMEDOUT, libc::EHOSTUNREACH] {
            assert_eq!(of(errno), None);
        }
        assert_eq!(LocalFailure::of_io(&io::ErrorKind::UnexpectedEof.into()), None);
    }
}
