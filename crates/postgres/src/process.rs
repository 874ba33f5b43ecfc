//! The few calls to the kernel that the standard library does not offer, and the only `unsafe`.
//!
//! Each function is a safe wrapper: it passes plain numbers, or buffers that it owns.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Signals that Postgres gives a meaning to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGINT: cut the sessions, write a checkpoint, end.
    FastShutdown,
    /// SIGQUIT: end at once; the next start recovers from the log.
    ImmediateShutdown,
    /// SIGKILL.
    Kill,
}

impl Signal {
    fn number(self) -> libc::c_int {
        match self {
            Self::FastShutdown => libc::SIGINT,
            Self::ImmediateShutdown => libc::SIGQUIT,
            Self::Kill => libc::SIGKILL,
        }
    }
}

/// A user to run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl User {
    /// Who this process is.
    pub(crate) fn current() -> Self {
        // SAFETY: both calls take nothing, cannot fail and touch no memory of ours.
        unsafe { Self { uid: libc::geteuid(), gid: libc::getegid() } }
    }

    /// The user of that name in the system's user database.
    pub(crate) fn named(name: &CStr) -> Option<Self> {
        let mut buffer = vec![0 as libc::c_char; 16 * 1024];
        // SAFETY: passwd is a plain C struct, for which all zeros is a valid value.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found: *mut libc::passwd = std::ptr::null_mut();
        // SAFETY: every pointer is to a live local of the type asked for, the length is the
        // buffer's own, and `entry`'s pointers into it are not used after this function.
        let code = unsafe {
            libc::getpwnam_r(
                name.as_ptr(),
                &raw mut entry,
                buffer.as_mut_ptr(),
                buffer.len(),
                &raw mut found,
            )
        };
        (code == 0 && !found.is_null()).then_some(Self { uid: entry.pw_uid, gid: entry.pw_gid })
    }

    /// Makes `command` run as this user, with none of our further groups.
    pub(crate) fn runs(self, command: &mut Command) {
        if self != Self::current() {
            command.uid(self.uid).gid(self.gid);
        }
    }
}

/// Makes the process that `command` starts leave our terminal's session and get `signal` when the
/// *thread* that spawned it ends. Whoever spawns must therefore stay as long as the process.
///
/// The order matters: the kernel clears the setting when a process changes its user, and the
/// standard library changes user before it runs this hook. `execve` keeps it.
pub(crate) fn ends_with_its_parent(command: &mut Command, signal: Signal) {
    let parent = std::process::id();
    let number = signal.number();
    let hook = move || {
        // SAFETY: between fork and exec only async-signal-safe calls are allowed; setsid, prctl
        // and getppid are plain system calls, and nothing here allocates.
        unsafe {
            libc::setsid();
            if libc::prctl(libc::PR_SET_PDEATHSIG, number) != 0 {
                return Err(io::Error::last_os_error());
            }
            // A parent that died before prctl would never be told of.
            if libc::getppid().unsigned_abs() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        Ok(())
    };
    // SAFETY: the hook keeps to what is allowed in a forked child, see above.
    unsafe { command.pre_exec(hook) };
}

/// Sends `signal`. A process that no longer exists is no error.
pub(crate) fn send(pid: u32, signal: Signal) -> io::Result<()> {
    let Ok(pid) = libc::pid_t::try_from(pid) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    if pid <= 1 {
        // 0 and below mean groups of processes; 1 is never ours.
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: kill takes two numbers and touches no memory of ours.
    if unsafe { libc::kill(pid, signal.number()) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
}

/// Blocks until our child `pid` has ended, and leaves it unreaped: its number can't be given to
/// another process before the caller reaps it.
pub(crate) fn wait_without_reaping(pid: u32) -> io::Result<()> {
    loop {
        // SAFETY: siginfo_t is a plain C struct, for which all zeros is a valid value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `info` is a live local of the type asked for.
        if unsafe { libc::waitid(libc::P_PID, pid, &raw mut info, flags) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The first of `names` that is a user here.
pub(crate) fn first_user_of(names: &[&str]) -> Option<User> {
    names.iter().filter_map(|name| CString::new(*name).ok()).find_map(|name| User::named(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_user_zero_and_a_made_up_name_is_nobody() {
        assert_eq!(first_user_of(&["no-such-user-here", "root"]), Some(User { uid: 0, gid: 0 }));
        assert_eq!(first_user_of(&["no-such-user-here"]), None);
    }

    #[test]
    fn no_signal_goes_to_a_group_or_to_process_one() {
        for pid in [0, 1, u32::MAX] {
            assert!(send(pid, Signal::FastShutdown).is_err(), "{pid}");
        }
    }

    #[test]
    fn a_child_that_ended_stays_until_it_is_reaped() {
        let mut child = Command::new("true").spawn().unwrap();
        wait_without_reaping(child.id()).unwrap();
        assert!(child.wait().unwrap().success());
    }
}
