//! Makes the kernel kill a child when its parent dies, and sends SIGTERM to a child.
#![allow(unsafe_code)]

use tokio::process::{Child, Command};

/// Makes the kernel kill the child when the thread that starts it ends.
pub(crate) fn with_parent(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: only async-signal-safe calls are made between fork and exec: prctl and getppid.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            // If the parent died before `prctl` was called, the kernel sends no signal.
            if libc::getppid().cast_unsigned() != parent {
                return Err(std::io::ErrorKind::BrokenPipe.into());
            }
            Ok(())
        });
    }
}

pub(crate) fn terminate(child: &Child) {
    let Some(id) = child.id().and_then(|id| libc::pid_t::try_from(id).ok()) else { return };
    // SAFETY: kill has no memory effects. The child has not been reaped yet, so its id has not been
    // reused.
    unsafe {
        libc::kill(id, libc::SIGTERM);
    }
}
