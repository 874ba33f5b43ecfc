//! Two system calls that std lacks: a signal when the parent dies, and SIGTERM.
#![allow(unsafe_code)]

use tokio::process::{Child, Command};

/// Makes the kernel kill the child when the thread that starts it ends. The main thread starts the
/// workers, and it ends with the process.
pub(crate) fn with_parent(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: only async-signal-safe calls are made between fork and exec: prctl and getppid.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            // The parent may have died before this call.
            if libc::getppid().cast_unsigned() != parent {
                return Err(std::io::ErrorKind::BrokenPipe.into());
            }
            Ok(())
        });
    }
}

/// Sends SIGTERM to a child, which makes a worker drain.
pub(crate) fn terminate(child: &Child) {
    let Some(id) = child.id().and_then(|id| libc::pid_t::try_from(id).ok()) else { return };
    // SAFETY: kill has no memory effects. The child is not reaped yet, so the ID is still its own.
    unsafe {
        libc::kill(id, libc::SIGTERM);
    }
}
