//! Network namespaces and mounts for one thread, so that tests can cut links and fill disks.
//!
//! [`enter_namespaces`] gives a thread and its child processes a network with only loopback, and
//! private mounts. A [`WorkerNetwork`] is another namespace, from which a worker reaches the test's
//! servers until the test cuts the link. The namespaces have no names, so the kernel removes them
//! with their last process.

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

pub(crate) fn enter_namespaces() -> io::Result<()> {
    unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS)?;
    shell("ip link set lo up && mount --make-rprivate /")
}

/// Runs a test in a thread with a separate network and mounts. Calls it with false if the kernel
/// does not allow them.
pub(crate) fn in_own_namespaces(test: impl FnOnce(bool) + Send) {
    let ended = std::thread::scope(|scope| {
        let body = || {
            let entered = enter_namespaces();
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
    // SAFETY: unshare takes only flags, and changes the thread's namespaces, not its memory.
    match unsafe { libc::unshare(what) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(crate) fn shell(line: &str) -> io::Result<()> {
    run(Command::new("sh").args(["-ec", line]), line)
}

fn run(command: &mut Command, line: &str) -> io::Result<()> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(()).ok_or_else(|| io::Error::other(format!("{line}: {text}")))
}

/// Mounts a file system with space for `bytes` bytes and 300 files.
pub(crate) fn mount_small(folder: &Path, bytes: u64) -> io::Result<()> {
    shell(&format!(
        "mount -t tmpfs -o size={bytes},nr_inodes=300,mode=755 none '{}'",
        folder.display()
    ))
}

pub(crate) fn unmount(folder: &Path) -> io::Result<()> {
    shell(&format!("umount -l '{}'", folder.display()))
}

/// A worker's network namespace. Its link `eth0` leads to the test's servers, and its link `void`
/// drops all packets.
#[derive(Debug)]
pub(crate) struct WorkerNetwork {
    number: u8,
    namespace: OwnedFd,
}

impl WorkerNetwork {
    /// Creates a namespace. `number` must be unique in the thread.
    pub(crate) fn new(number: u8) -> io::Result<Self> {
        let made = std::thread::spawn(|| {
            unshare(libc::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        });
        let namespace = made.join().map_err(|_| io::Error::other("no thread"))??.into();
        let network = Self { number, namespace };
        // SAFETY: gettid takes no argument and cannot fail.
        let here = unsafe { libc::gettid() };
        network.inside(&format!(
            "ip link add eth0 type veth peer name v{number} netns {here}
             ip link add void type veth peer name w{number} netns {here}
             ip link set lo up
             ip addr del 127.0.0.1/8 dev lo
             ip addr add 10.77.{number}.2/30 dev eth0
             ip addr add 10.78.{number}.2/30 dev void"
        ))?;
        // The first link may carry packets to loopback addresses. On the second, the kernel drops
        // them.
        shell(&format!(
            "ip addr add 10.77.{number}.1/30 dev v{number}
             ip addr add 10.78.{number}.1/30 dev w{number}
             ip link set v{number} up
             ip link set w{number} up
             echo 1 >/proc/sys/net/ipv4/conf/v{number}/route_localnet"
        ))?;
        network.inside(
            "ip link set eth0 up
             ip link set void up
             echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet",
        )?;
        network.set_routes()?;
        Ok(network)
    }

    fn set_routes(&self) -> io::Result<()> {
        let number = self.number;
        // The test's Postgres, S3 and DNS are at 127.0.0.1, and the web is at the other addresses.
        self.inside(&format!(
            "ip route replace 127.0.0.0/8 via 10.77.{number}.1 src 10.77.{number}.2
             ip route replace 127.0.0.1/32 via 10.77.{number}.1 src 10.77.{number}.2"
        ))
    }

    /// Cuts the link at the far end, so that the worker gets no error.
    pub(crate) fn cut(&self) -> io::Result<()> {
        shell(&format!("ip link set v{} down", self.number))
    }

    pub(crate) fn restore(&self) -> io::Result<()> {
        shell(&format!("ip link set v{} up", self.number))
    }

    /// Removes the route to the web, so that connecting fails immediately with ENETUNREACH.
    pub(crate) fn lose_route(&self) -> io::Result<()> {
        self.inside("ip route del 127.0.0.0/8")
    }

    /// Drops packets to the web, but not to 127.0.0.1.
    pub(crate) fn swallow(&self) -> io::Result<()> {
        let number = self.number;
        self.inside(&format!(
            "ip route replace 127.0.0.0/8 via 10.78.{number}.1 src 10.77.{number}.2"
        ))
    }

    pub(crate) fn find_route(&self) -> io::Result<()> {
        self.set_routes()
    }

    fn inside(&self, line: &str) -> io::Result<()> {
        let mut command = Command::new("sh");
        command.args(["-ec", line]);
        self.confine(&mut command);
        run(&mut command, line)
    }

    /// Makes a command run in this namespace.
    pub(crate) fn confine(&self, command: &mut Command) {
        let namespace = self.namespace.as_raw_fd();
        // SAFETY: setns is a system call on a descriptor that lives as long as `self`, which
        // outlives the command's start; it allocates nothing.
        unsafe {
            command.pre_exec(move || match libc::setns(namespace, libc::CLONE_NEWNET) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
    }
}

pub(crate) fn limit_open_files(command: &mut Command, files: u64) {
    // SAFETY: setrlimit reads one rlimit from its address; it allocates nothing.
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
