//! Safe wrappers for system calls that the standard library lacks.

#![allow(unsafe_code)]

use std::{
    ffi::{CStr, CString},
    io,
    os::unix::process::CommandExt,
    process::Command,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    FastShutdown,
    ImmediateShutdown,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnixUser {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl UnixUser {
    pub(crate) fn current() -> Self {
        // SAFETY: both calls take no arguments, cannot fail and touch no memory of this process.
        unsafe { Self { uid: libc::geteuid(), gid: libc::getegid() } }
    }

    pub(crate) fn named(name: &CStr) -> Option<Self> {
        let mut buffer = vec![0 as libc::c_char; 16 * 1024];
        // SAFETY: passwd is a plain C struct, so all zeros is a valid value.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found: *mut libc::passwd = std::ptr::null_mut();
        // SAFETY: every pointer is to a live local variable with the expected type, the length is
        // the buffer's own, and `entry`'s pointers into it are not used after this function.
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

    /// Another user does not get this process's supplementary groups.
    pub(crate) fn runs(self, command: &mut Command) {
        if self != Self::current() {
            command.uid(self.uid).gid(self.gid);
        }
    }
}

/// Makes the process that `command` starts leave the terminal's session, and receive `signal` when
/// the *thread* that spawned it exits.
pub(crate) fn ends_with_its_parent(command: &mut Command, signal: Signal) {
    let parent = std::process::id();
    let number = signal.number();
    let hook = move || {
        // SAFETY: between fork and exec only async-signal-safe calls are allowed. These calls are
        // safe, and nothing here allocates.
        unsafe {
            libc::setsid();
            if libc::prctl(libc::PR_SET_PDEATHSIG, number) != 0 {
                return Err(io::Error::last_os_error());
            }
            // If the parent died before prctl, no signal would arrive.
            if libc::getppid().unsigned_abs() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        Ok(())
    };
    // SAFETY: the hook only calls functions that are allowed in a forked child, see above.
    unsafe { command.pre_exec(hook) };
}

pub(crate) fn send(pid: u32, signal: Signal) -> io::Result<()> {
    let Ok(pid) = libc::pid_t::try_from(pid) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    if pid <= 1 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: kill takes two numbers and touches no memory of this process.
    if unsafe { libc::kill(pid, signal.number()) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
}

/// Blocks until the child `pid` has exited, without reaping it, so that its ID is not reused.
pub(crate) fn wait_without_reaping(pid: u32) -> io::Result<()> {
    loop {
        // SAFETY: siginfo_t is a plain C struct, so all zeros is a valid value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `info` is a live local variable with the expected type.
        if unsafe { libc::waitid(libc::P_PID, pid, &raw mut info, flags) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

pub(crate) fn first_user_of(names: &[&str]) -> Option<UnixUser> {
    names.iter().filter_map(|name| CString::new(*name).ok()).find_map(|name| UnixUser::named(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_user_zero_and_an_unknown_name_has_no_user() {
        assert_eq!(
            first_user_of(&["no-such-user-here", "root"]),
            Some(UnixUser { uid: 0, gid: 0 })
        );
        assert_eq!(first_user_of(&["no-such-user-here"]), None);
    }

    #[test]
    fn no_signal_goes_to_a_group_or_to_process_one() {
        for pid in [0, 1, u32::MAX] {
            assert!(send(pid, Signal::FastShutdown).is_err(), "{pid}");
        }
    }

    #[test]
    fn an_exited_child_remains_until_it_is_reaped() {
        let mut child = Command::new("true").spawn().unwrap();
        wait_without_reaping(child.id()).unwrap();
        assert!(child.wait().unwrap().success());
    }
}
