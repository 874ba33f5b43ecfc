//! Tests the display of `local` and `scan status --watch` on a pseudo-terminal, with a terminal
//! emulator (vt100) that reads its output. Unlike a desktop's terminal, the emulator does not
//! rewrap lines after a resize.

use std::{
    fs::File,
    io::Read as _,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::process::ExitStatusExt as _,
    },
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use everytab_testbed::Mix;
use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use crate::{
    environment::{Database, Stores, internet},
    setup::{LIMIT, Running, folder, run, worker},
};

const ROWS: u16 = 40;
/// Maximum number of lines to keep that scrolled off the top.
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
    /// Starts a command that logs only errors.
    fn start(arguments: &[&str], columns: u16) -> Self {
        Self::of(worker(arguments), columns, "error")
    }

    fn watching(database: &Database, columns: u16, log: &str) -> Self {
        Self::of(database.owner(&["scan", "status", "--watch"]), columns, log)
    }

    fn of(mut command: Command, columns: u16, log: &str) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let terminal = ioctl_tiocgptpeer(&master, flags).unwrap();
        tcsetwinsize(terminal.as_fd(), size(columns)).unwrap();
        let child = command
            .env_remove("COLUMNS")
            .env("TERM", "xterm-256color")
            .env("EVERYTAB_LOG", log)
            .stdin(Stdio::null())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal)
            .spawn()
            .unwrap();
        // The terminal must close with the program.
        drop(command);
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

    /// Shows the program's output until `is_enough` is true. Returns false if the program closed
    /// the terminal first.
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
                "waited too long; shown:\n{}",
                self.lines().join("\n")
            );
        }
        true
    }

    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    fn finish(&mut self) -> ExitStatus {
        self.show_until(|_| false);
        self.child.wait().unwrap()
    }

    /// Returns all lines, including those that scrolled off the top, without trailing spaces.
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

    /// Returns the screen rows that continue in the next row.
    fn wrapped_rows(&self) -> Vec<String> {
        let screen = self.screen.screen();
        let rows = (0..ROWS).zip(screen.rows(0, screen.size().1));
        rows.filter(|(row, _)| screen.row_wrapped(*row)).map(|(_, text)| text).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The program has already ended if the test passed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn headers(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.starts_with("scan ")).count()
}

fn assert_clean(screen: &vt100::Screen, shown: &str) {
    assert!(!screen.hide_cursor() && !screen.alternate_screen(), "{shown}");
    assert_eq!(screen.fgcolor(), vt100::Color::Default, "{shown}");
    assert_eq!(screen.cursor_position().1, 0, "{shown}");
}

/// Sets each rate, and waits until every session shows it.
fn repaint(database: &Database, sessions: &mut [Session], rates: std::ops::Range<u32>) {
    for rate in rates {
        run(database.owner(&["scan", "set", &format!("rate={rate}")])).expect_code(0);
        let line = format!("rate         {rate} requests/s");
        for session in &mut *sessions {
            let is_shown = session.show_until(|screen| screen.contents().contains(&line));
            assert!(is_shown, "{}", session.lines().join("\n"));
        }
    }
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
        for kind in ["index", "warc", "icon", "bundle-shard", "search", "map", "publish"] {
            let bars = lines.iter().filter(|line| line.starts_with(kind) && line.contains('█'));
            assert_eq!(bars.count(), 1, "{columns} columns, {kind}:\n{shown}");
        }
        let wrapped = session.wrapped_rows();
        // Only the directory's path may be wider than the terminal.
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
        "400",
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
    // The second frame after the resize covers one with the new width, so it must be correct.
    let mut frames = 0;
    let mut last = String::new();
    assert!(session.show_until(|screen| {
        let contents = screen.contents();
        frames += usize::from(contents != last);
        last = contents;
        frames > 3
    }));
    assert!(session.wrapped_rows().is_empty(), "{}", session.lines().join("\n"));
    session.interrupt();
    let status = session.finish();
    let lines = session.lines();
    let shown = lines.join("\n");
    assert_eq!(status.code(), Some(4), "{shown}");
    assert!(lines.last().unwrap().starts_with("stopped;"), "{shown}");
    assert_clean(session.screen.screen(), &shown);
}

#[test]
fn the_frame_of_scan_status_fits_any_width_and_is_painted_over_itself_until_ctrl_c() {
    let internet = internet(60, Mix::none());
    let (gate, database) = internet.held_scan();
    let worker = Running::start(database.worker(&[]));
    gate.wait_until_held();
    let widths = [60, 80, 120, 200];
    let mut sessions = widths.map(|columns| Session::watching(&database, columns, "error"));
    repaint(&database, &mut sessions, 1..4);
    for (columns, session) in widths.into_iter().zip(&mut sessions) {
        session.interrupt();
        let status = session.finish();
        let lines = session.lines();
        let shown = lines.join("\n");
        assert_eq!(status.signal(), Some(Signal::INT.as_raw()), "{status}, {columns}:\n{shown}");
        assert_eq!(headers(&lines), 1, "{columns} columns:\n{shown}");
        for kind in ["index", "warc", "icon", "bundle-shard", "search", "map", "publish"] {
            let is_bar = |line: &&String| line.starts_with(kind) && line.contains(['█', '░']);
            let bars = lines.iter().filter(is_bar).count();
            assert_eq!(bars, 1, "{columns} columns, {kind}:\n{shown}");
        }
        for label in ["worker ", "rate "] {
            let labelled = lines.iter().filter(|line| line.starts_with(label)).count();
            assert_eq!(labelled, 1, "{columns} columns, {label}:\n{shown}");
        }
        assert!(session.wrapped_rows().is_empty(), "{columns} columns:\n{shown}");
        assert_clean(session.screen.screen(), &shown);
    }
    drop(worker);
}

#[test]
fn log_lines_pass_above_the_frame() {
    let internet = internet(20, Mix::none());
    let database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    database.start_scan(internet.crawl(), &[]);
    let widths = [60, 200];
    // At this level the coordinator's client logs ended connections.
    let log = "everytab_coordinator=debug";
    let mut sessions = widths.map(|columns| Session::watching(&database, columns, log));
    repaint(&database, &mut sessions, 1..2);
    // If a connection ended in the middle of a query, the display would end, too.
    let end_connections = || {
        database.psql(
            "select pg_terminate_backend(pid) from pg_stat_activity
              where datname = current_database() and pid <> pg_backend_pid() and state = 'idle'",
        )
    };
    // The narrow terminal has only the line's start in one row.
    let said = "a connection to";
    for session in &mut sessions {
        assert!(session.show_until(|screen| {
            let is_shown = screen.contents().contains(said);
            if !is_shown {
                end_connections();
            }
            is_shown
        }));
    }
    repaint(&database, &mut sessions, 2..4);
    for (columns, session) in widths.into_iter().zip(&mut sessions) {
        session.interrupt();
        session.finish();
        let lines = session.lines();
        let shown = lines.join("\n");
        assert_eq!(headers(&lines), 1, "{columns} columns:\n{shown}");
        let header = lines.iter().position(|line| line.starts_with("scan ")).unwrap();
        let logged: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains(said)).collect();
        assert!(!logged.is_empty(), "{columns} columns:\n{shown}");
        assert!(logged.iter().all(|at| *at < header), "{columns} columns:\n{shown}");
        // No remains of earlier frames may be between the log lines.
        let rest = lines[..header].iter().filter(|line| line.contains(['█', '░']));
        assert_eq!(rest.count(), 0, "{columns} columns:\n{shown}");
        assert_clean(session.screen.screen(), &shown);
    }
}
