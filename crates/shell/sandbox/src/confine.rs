//! Sandboxes the current process.
//!
//! seccomp kills the process at any system call that is not on our list. Landlock, a second
//! barrier, denies all paths and ports. It is applied before the limits, because it needs a file
//! descriptor.

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

const NEWEST_RIGHTS: ABI = ABI::V6;
const EXECUTABLE: u64 = libc::PROT_EXEC as u64;
/// The system calls for pure computation.
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

/// The mechanisms that sandbox a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// A system call filter, and Landlock rules for files, ports and signals.
    SeccompAndLandlock,
    /// Only a system call filter, because Landlock is not available.
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

/// The process must have a single thread.
pub(crate) fn confine(address_space: u64) -> Result<Confinement, String> {
    // Some containers deny Landlock's calls. seccomp is then sufficient, as on a kernel without
    // Landlock.
    let has_landlock = landlock().unwrap_or(false);
    for (resource, most) in [
        (Resource::As, address_space),
        // No file can be opened or grow, and no core dump with untrusted bytes is written.
        (Resource::Nofile, 0),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit)
            .map_err(|error| format!("cannot set a resource limit: {error}"))?;
    }
    seccomp().map_err(|error| format!("seccomp: {error}"))?;
    Ok(if has_landlock { Confinement::SeccompAndLandlock } else { Confinement::SeccompAlone })
}

/// Returns false if the kernel does not support Landlock.
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
    // Decoders need no executable memory.
    rules.insert(libc::SYS_mmap, only(2, Is::MaskedEq(EXECUTABLE), 0)?);
    rules.insert(libc::SYS_mprotect, only(2, Is::MaskedEq(EXECUTABLE), 0)?);
    // Allow only the process's own limits and signals, because the worker runs as the same user.
    rules.insert(libc::SYS_prlimit64, only(0, Is::Eq, 0)?);
    rules.insert(libc::SYS_tgkill, only(0, Is::Eq, own)?);
    let architecture: TargetArch = ARCH.try_into()?;
    let (others, listed) = (SeccompAction::KillProcess, SeccompAction::Allow);
    let program: seccompiler::BpfProgram =
        SeccompFilter::new(rules, others, listed, architecture)?.try_into()?;
    seccompiler::apply_filter(&program)?;
    Ok(())
}

/// Sets the CPU time limit to the time used so far plus `more`, in seconds.
pub(crate) fn allow_processor_time(used: u64, more: u64) -> io::Result<()> {
    let limit = Rlimit { current: Some(used + more), maximum: None };
    setrlimit(Resource::Cpu, limit).map_err(io::Error::from)
}
