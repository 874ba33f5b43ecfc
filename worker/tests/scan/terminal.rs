//! What a person at a terminal sees of `local`: a frame that fits any width, follows a resize and
//! leaves the terminal clean.
//!
//! The program runs on a pseudo-terminal whose output a terminal emulator (vt100) reads. Unlike a
//! desktop's terminal it does not rewrap lines when it is resized. Must not know: what the lines
//! mean.

use std::{
    fs::File,
    io::Read as _,
    os::fd::{AsFd as _, OwnedFd},
    process::{Child, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use rustix::{
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use crate::setup::{LIMIT, folder, worker};

const ROWS: u16 = 40;
/// Lines that left the screen at the top and are kept for the test to read.
const SCROLLBACK_LINES: usize = 2_000;

/// The program on a pseudo-terminal.
struct Session {
    child: Child,
    master: OwnedFd,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

fn size(columns: u16) -> Winsize {
    Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Session {
    fn start(arguments: &[&str], columns: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let terminal = ioctl_tiocgptpeer(&master, flags).unwrap();
        tcsetwinsize(terminal.as_fd(), size(columns)).unwrap();
        let child = worker(arguments)
            .env_remove("COLUMNS")
            .env("TERM", "xterm-256color")
            // Log lines pass above the frame as they are; here only the frame counts.
            .env("EVERYTAB_LOG", "error")
            .stdin(Stdio::null())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal)
            .spawn()
            .unwrap();
        let mut reading = File::from(master.try_clone().unwrap());
        let (send, output) = channel();
        // Reading fails with EIO when the last process has closed the terminal.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = reading.read(&mut bytes) {
                if send.send(bytes[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        let screen = vt100::Parser::new(ROWS, columns, SCROLLBACK_LINES);
        Self { child, master, output, screen }
    }

    fn resize(&mut self, columns: u16) {
        tcsetwinsize(self.master.as_fd(), size(columns)).unwrap();
        self.screen.screen_mut().set_size(ROWS, columns);
    }

    /// Shows what was written until `is_enough`; false if the program closed the terminal first.
    fn show_until(&mut self, mut is_enough: impl FnMut(&vt100::Screen) -> bool) -> bool {
        let give_up = Instant::now() + LIMIT;
        while !is_enough(self.screen.screen()) {
            match self.output.recv_timeout(Duration::from_millis(100)) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {}
            }
            assert!(
                Instant::now() < give_up,
                "waited in vain; shown:\n{}",
                self.lines().join("\n")
            );
        }
        true
    }

    fn finish(&mut self) -> ExitStatus {
        self.show_until(|_| false);
        self.child.wait().unwrap()
    }

    /// All lines from the first that scrolled away to the cursor, without trailing spaces.
    fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        self.screen.screen_mut().set_scrollback(usize::MAX);
        let kept = self.screen.screen().scrollback();
        for above in (1..=kept).rev() {
            self.screen.screen_mut().set_scrollback(above);
            let (_, columns) = self.screen.screen().size();
            lines.extend(self.screen.screen().rows(0, columns).next());
        }
        self.screen.screen_mut().set_scrollback(0);
        let (_, columns) = self.screen.screen().size();
        lines.extend(self.screen.screen().rows(0, columns));
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        lines.iter().map(|line| line.trim_end().to_owned()).collect()
    }

    /// The rows on the screen that go on in the next one.
    fn wrapped_rows(&self) -> Vec<String> {
        let screen = self.screen.screen();
        let rows = (0..ROWS).zip(screen.rows(0, screen.size().1));
        rows.filter(|(row, _)| screen.row_wrapped(*row)).map(|(_, text)| text).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn headers(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.starts_with("scan ")).count()
}

#[test]
fn the_display_of_local_fits_any_width_and_is_painted_over_itself() {
    for columns in [40, 60, 80, 120, 200] {
        let folder = folder();
        let dir = folder.path().to_str().unwrap();
        let arguments = ["local", "--sample", "--sample-hosts", "40", "--dir", dir];
        let mut session = Session::start(&arguments, columns);
        let status = session.finish();
        let lines = session.lines();
        let shown = lines.join("\n");
        assert_eq!(status.code(), Some(0), "{shown}");
        assert_eq!(headers(&lines), 1, "{columns} columns:\n{shown}");
        for kind in ["index", "warc", "icon", "bundle-shard", "search", "publish"] {
            let bars = lines.iter().filter(|line| line.starts_with(kind) && line.contains('█'));
            assert_eq!(bars.count(), 1, "{columns} columns, {kind}:\n{shown}");
        }
        let wrapped = session.wrapped_rows();
        // Only the path of the folder may be longer than the terminal is wide.
        assert!(wrapped.iter().all(|line| line.starts_with("site ")), "{columns}: {wrapped:?}");
    }
}

#[test]
fn the_display_follows_a_resize_and_ctrl_c_leaves_the_terminal_clean() {
    let folder = folder();
    let dir = folder.path().to_str().unwrap();
    let arguments = [
        "local",
        "--sample",
        "--sample-hosts",
        "3000",
        "--sample-latency",
        "300ms",
        "--dir",
        dir,
        "--in-flight",
        "8",
    ];
    let mut session = Session::start(&arguments, 120);
    let is_fetching = |screen: &vt100::Screen| screen.contents().contains("icon         █");
    assert!(session.show_until(is_fetching), "{}", session.lines().join("\n"));
    session.resize(60);
    // The second frame after the resize is painted over one that was made for the new width.
    let mut frames = 0;
    let mut last = String::new();
    assert!(session.show_until(|screen| {
        let contents = screen.contents();
        frames += usize::from(contents != last);
        last = contents;
        frames > 3
    }));
    assert!(session.wrapped_rows().is_empty(), "{}", session.lines().join("\n"));
    let pid = rustix::process::Pid::from_child(&session.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = session.finish();
    let lines = session.lines();
    let shown = lines.join("\n");
    assert_eq!(status.code(), Some(4), "{shown}");
    assert!(lines.last().unwrap().starts_with("stopped;"), "{shown}");
    let screen = session.screen.screen();
    assert!(!screen.hide_cursor() && !screen.alternate_screen(), "{shown}");
    assert_eq!(screen.fgcolor(), vt100::Color::Default, "{shown}");
    assert_eq!(screen.cursor_position().1, 0, "{shown}");
}
