//! Local failures. They void the fetch that they affected, and are never an outcome.
//!
//! Does not depend on what is fetched.

use std::io;

use crate::outcome::Outcome;

macro_rules! troubles {
    ($($(#[$doc:meta])* $variant:ident $name:literal $message:literal;)+) => {
        /// A local failure. It voids the fetch that it affected, which then runs again. It is never
        /// an outcome.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
        pub enum Trouble { $($(#[$doc])* #[error($message)] $variant,)+ }

        impl Trouble {
            /// Every local failure, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the stable name, in snake case.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

troubles! {
    /// The process or the system has no free file descriptor (EMFILE, ENFILE).
    FileDescriptors "file_descriptors"
        "no file descriptor left (raise the open-file limit, or lower the fetches in flight)";
    /// The kernel has no memory for a socket (ENOBUFS, ENOMEM).
    Memory "memory"
        "the kernel has no memory left for sockets";
    /// The host has no route to the network (ENETUNREACH, ENETDOWN).
    NetworkUnreachable "network_unreachable"
        "this machine has no route to the network";
    /// There is no local port or address to dial from (EADDRNOTAVAIL).
    LocalPorts "local_ports"
        "no local port left to dial from";
    /// The resolver does not respond at all.
    ResolverUnreachable "resolver_unreachable"
        "the resolver does not answer";
    /// The resolver denies a name that exists, or has an address for one that does not.
    ResolverFalse "resolver_false"
        "the resolver returns false results";
    /// The process was frozen or asleep during a fetch.
    Stalled "stalled"
        "this process was stalled while fetching";
    /// Most of the recent origins failed in ways that a broken local network would explain.
    MostOriginsFail "most_origins_fail"
        "most of the last origins failed to resolve or to connect";
    /// A write to the directory for temporary files failed, or the spool is full.
    Spool "spool"
        "the spool of icon bodies is full or cannot be written";
}

impl Trouble {
    /// Returns the local failure for an operating-system error. `None` if the peer caused the
    /// error.
    pub fn of_io(error: &io::Error) -> Option<Self> {
        match error.raw_os_error()? {
            libc::EMFILE | libc::ENFILE => Some(Self::FileDescriptors),
            libc::ENOBUFS | libc::ENOMEM => Some(Self::Memory),
            libc::ENETUNREACH | libc::ENETDOWN => Some(Self::NetworkUnreachable),
            libc::EADDRNOTAVAIL => Some(Self::LocalPorts),
            _ => None,
        }
    }

    /// Returns whether a void fetch of an icon may run again in a few seconds. After a false answer
    /// of the resolver the other fetches of its shard are void, too.
    pub(crate) fn may_pass(self) -> bool {
        self != Self::ResolverFalse
    }

    /// Returns whether the resolver is at fault.
    pub(crate) fn is_of_resolver(self) -> bool {
        matches!(self, Self::ResolverUnreachable | Self::ResolverFalse)
    }
}

/// Why a fetch stops at some step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The fetch has its outcome.
    Outcome(Outcome),
    /// The fetch is void.
    Trouble(Trouble),
}

impl From<Outcome> for Stop {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_this_machine_are_trouble_and_those_of_the_peer_are_not() {
        let of = |errno| Trouble::of_io(&io::Error::from_raw_os_error(errno));
        assert_eq!(of(libc::EMFILE), Some(Trouble::FileDescriptors));
        assert_eq!(of(libc::ENFILE), Some(Trouble::FileDescriptors));
        assert_eq!(of(libc::ENOBUFS), Some(Trouble::Memory));
        assert_eq!(of(libc::ENETUNREACH), Some(Trouble::NetworkUnreachable));
        assert_eq!(of(libc::EADDRNOTAVAIL), Some(Trouble::LocalPorts));
        for errno in [libc::ECONNREFUSED, libc::ECONNRESET, libc::ETIMEDOUT, libc::EHOSTUNREACH] {
            assert_eq!(of(errno), None);
        }
        assert_eq!(Trouble::of_io(&io::ErrorKind::UnexpectedEof.into()), None);
    }
}
