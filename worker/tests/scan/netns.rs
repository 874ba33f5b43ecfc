//! Network namespaces and mounts of this thread alone: links that a test may really cut.
//!
//! [`enter`] gives the calling thread, and all that it starts from then on, a network of its own
//! in which only loopback is up, and mounts that nobody else sees. An [`Uplink`] is one more
//! namespace, joined to that by a pair of links, in which 127.0.0.0/8 lies beyond the link: there
//! a worker reaches the test's servers as it would reach the internet, until the link is cut.
//! Nothing has a name, so the kernel removes all of it when the last process of it ends.

#![allow(unsafe_code, reason = "unshare and setns are calls that std does not have")]

use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    path::Path,
    process::Command,
};

/// Gives this thread a network and mounts of its own.
pub(crate) fn enter() -> io::Result<()> {
    unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS)?;
    shell("ip link set lo up && mount --make-rprivate /")
}

/// Runs a test in a thread with a network and mounts of its own, if it can be had.
pub(crate) fn apart(test: impl FnOnce(bool) + Send) {
    let ended = std::thread::scope(|scope| {
        let body = || {
            let entered = enter();
            if let Err(error) = &entered {
                println!("skipped: cut links and full disks: no namespaces here ({error})");
            }
            test(entered.is_ok());
        };
        scope.spawn(body).join()
    });
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

fn unshare(what: libc::c_int) -> io::Result<()> {
    // SAFETY: it takes flags alone and changes this thread's surroundings, not its memory.
    match unsafe { libc::unshare(what) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Runs a line in this thread's namespaces.
pub(crate) fn shell(line: &str) -> io::Result<()> {
    said(Command::new("sh").args(["-ec", line]), line)
}

fn said(command: &mut Command, line: &str) -> io::Result<()> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(()).ok_or_else(|| io::Error::other(format!("{line}: {text}")))
}

/// A file system of so many bytes, and 300 files, at a folder, until [`unmount`] or the end of the
/// thread's mounts.
pub(crate) fn mount_small(folder: &Path, bytes: u64) -> io::Result<()> {
    shell(&format!(
        "mount -t tmpfs -o size={bytes},nr_inodes=300,mode=755 none '{}'",
        folder.display()
    ))
}

pub(crate) fn unmount(folder: &Path) -> io::Result<()> {
    shell(&format!("umount -l '{}'", folder.display()))
}

/// The namespace of one worker. Beyond its link `eth0` is everything; beyond `void` nothing.
#[derive(Debug)]
pub(crate) struct Uplink {
    number: u8,
    namespace: OwnedFd,
}

impl Uplink {
    /// Makes one; `number` tells it from the others of this thread.
    pub(crate) fn new(number: u8) -> io::Result<Self> {
        let made = std::thread::spawn(|| {
            unshare(libc::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        });
        let namespace = made.join().map_err(|_| io::Error::other("no thread"))??.into();
        let uplink = Self { number, namespace };
        // SAFETY: it takes nothing and cannot fail.
        let here = unsafe { libc::gettid() };
        uplink.inside(&format!(
            "ip link add eth0 type veth peer name v{number} netns {here}
             ip link add void type veth peer name w{number} netns {here}
             ip link set lo up
             ip addr del 127.0.0.1/8 dev lo
             ip addr add 10.77.{number}.2/30 dev eth0
             ip addr add 10.78.{number}.2/30 dev void"
        ))?;
        // What comes in by v may go to loopback addresses; by w it is thrown away.
        shell(&format!(
            "ip addr add 10.77.{number}.1/30 dev v{number}
             ip addr add 10.78.{number}.1/30 dev w{number}
             ip link set v{number} up
             ip link set w{number} up
             echo 1 >/proc/sys/net/ipv4/conf/v{number}/route_localnet"
        ))?;
        uplink.inside(
            "ip link set eth0 up
             ip link set void up
             echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet",
        )?;
        uplink.set_routes()?;
        Ok(uplink)
    }

    fn set_routes(&self) -> io::Result<()> {
        let number = self.number;
        // The test's own servers (Postgres, S3, names) are at 127.0.0.1, the web at the others.
        self.inside(&format!(
            "ip route replace 127.0.0.0/8 via 10.77.{number}.1 src 10.77.{number}.2
             ip route replace 127.0.0.1/32 via 10.77.{number}.1 src 10.77.{number}.2"
        ))
    }

    /// The link goes down at the far end: nothing arrives any more, this end is not told.
    pub(crate) fn cut(&self) -> io::Result<()> {
        shell(&format!("ip link set v{} down", self.number))
    }

    pub(crate) fn mend(&self) -> io::Result<()> {
        shell(&format!("ip link set v{} up", self.number))
    }

    /// The web has no route: connecting fails immediately with ENETUNREACH.
    pub(crate) fn lose_route(&self) -> io::Result<()> {
        self.inside("ip route del 127.0.0.0/8")
    }

    /// Packets to the web vanish; Postgres, S3 and the name server stay.
    pub(crate) fn swallow(&self) -> io::Result<()> {
        let number = self.number;
        self.inside(&format!(
            "ip route replace 127.0.0.0/8 via 10.78.{number}.1 src 10.77.{number}.2"
        ))
    }

    /// Ends [`lose_route`](Self::lose_route) and [`swallow`](Self::swallow).
    pub(crate) fn find_route(&self) -> io::Result<()> {
        self.set_routes()
    }

    fn inside(&self, line: &str) -> io::Result<()> {
        let mut command = Command::new("sh");
        command.args(["-ec", line]);
        self.confine(&mut command);
        said(&mut command, line)
    }

    /// Makes a command run in here.
    pub(crate) fn confine(&self, command: &mut Command) {
        let namespace = self.namespace.as_raw_fd();
        // SAFETY: setns is a system call on a descriptor that lives as long as `self`, which
        // outlives the start of the command; it allocates nothing.
        unsafe {
            command.pre_exec(move || match libc::setns(namespace, libc::CLONE_NEWNET) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
    }
}

/// Makes a command run with a low limit of open files.
pub(crate) fn few_files(command: &mut Command, files: u64) {
    // SAFETY: setrlimit reads one rlimit from the address of one; it allocates nothing.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: files, rlim_max: files };
            match libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        });
    }
}
