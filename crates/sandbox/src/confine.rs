//! How a process gives up what it does not need.
//!
//! Landlock, which takes a file descriptor, comes first: it refuses paths and ports even if a
//! system call should reach the kernel after all. Then limits, then seccomp: a call that is not on
//! its list ends the process.

use std::{collections::BTreeMap, env::consts::ARCH, io};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus,
    Scope,
};
use rustix::process::{Resource, Rlimit, getpid, setrlimit};
use seccompiler::{
    SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// The newest rights of landlock that are asked for; older kernels refuse as many as they know.
const NEWEST_RIGHTS: ABI = ABI::V6;
/// `PROT_EXEC`, as a bit of an argument.
const EXECUTABLE: u64 = libc::PROT_EXEC as u64;
/// What computing takes: reading and writing what is open, memory, locks, signals, time, chance.
const CALLS: [libc::c_long; 20] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// By what a process is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// The list of system calls, and rules of landlock for files, ports and signals.
    SeccompAndLandlock,
    /// The list of system calls: this kernel has no landlock, or it is off.
    SeccompAlone,
}

impl Confinement {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::SeccompAlone => 1,
            Self::SeccompAndLandlock => 2,
        }
    }

    pub(crate) fn of_byte(byte: u8) -> Option<Self> {
        [Self::SeccompAlone, Self::SeccompAndLandlock].into_iter().find(|one| one.byte() == byte)
    }
}

/// Confines this process, which has one thread, for good.
pub(crate) fn confine(address_space: u64) -> Result<Confinement, String> {
    // Some containers refuse its calls: as where the kernel has none, seccomp is left.
    let has_landlock = landlock().unwrap_or(false);
    for (resource, most) in [
        (Resource::As, address_space),
        // No file is opened, none grows, and no memory of strangers' bytes is written to one.
        (Resource::Nofile, 0),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit).map_err(|error| format!("a limit of resources: {error}"))?;
    }
    seccomp().map_err(|error| format!("seccomp: {error}"))?;
    Ok(match has_landlock {
        true => Confinement::SeccompAndLandlock,
        false => Confinement::SeccompAlone,
    })
}

/// Refuses every path, port and foreign signal, as far as the kernel knows how to.
fn landlock() -> Result<bool, landlock::RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST_RIGHTS))?
        .handle_access(AccessNet::from_all(NEWEST_RIGHTS))?
        .scope(Scope::from_all(NEWEST_RIGHTS))?;
    let status = ruleset.create()?.restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

fn seccomp() -> Result<(), Box<dyn std::error::Error>> {
    let own = u64::from(getpid().as_raw_nonzero().get().unsigned_abs());
    let only = |argument, is, value| {
        let condition = SeccompCondition::new(argument, Length::Dword, is, value)?;
        SeccompRule::new(vec![condition]).map(|rule| vec![rule])
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        CALLS.into_iter().map(|call| (call, Vec::new())).collect();
    // Memory that can be executed is none of what a decoder needs.
    rules.insert(libc::SYS_mmap, only(2, Is::MaskedEq(EXECUTABLE), 0)?);
    rules.insert(libc::SYS_mprotect, only(2, Is::MaskedEq(EXECUTABLE), 0)?);
    // Its own limits, its own signals: the worker has the same user.
    rules.insert(libc::SYS_prlimit64, only(0, Is::Eq, 0)?);
    rules.insert(libc::SYS_tgkill, only(0, Is::Eq, own)?);
    let architecture: TargetArch = ARCH.try_into()?;
    let (others, listed) = (SeccompAction::KillProcess, SeccompAction::Allow);
    let program: seccompiler::BpfProgram =
        SeccompFilter::new(rules, others, listed, architecture)?.try_into()?;
    seccompiler::apply_filter(&program)?;
    Ok(())
}

/// Sets the limit of processor time to what this process has used and so much more.
pub(crate) fn allow_processor_time(used: u64, more: u64) -> io::Result<()> {
    let limit = Rlimit { current: Some(used + more), maximum: None };
    setrlimit(Resource::Cpu, limit).map_err(io::Error::from)
}
