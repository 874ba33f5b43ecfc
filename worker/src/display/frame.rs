//! A frame of lines at the terminal's bottom, repainted in place, with log lines above it.
//!
//! A new frame erases exactly the rows of the last one, even if the terminal has become narrower.
//! Ctrl-C leaves a clean terminal at any moment, because the cursor is always below the frame.

use std::io::{self, IsTerminal as _, Write};

use crossterm::{
    cursor::{MoveToColumn, MoveUp},
    queue,
    terminal::{Clear, ClearType},
};
use everytab_operations::progress::layout::{MIN_COLUMNS, width};
use parking_lot::Mutex;
use terminal_size::terminal_size_of;

/// Assumed size of a terminal that does not report one.
const USUAL_SIZE: Size = Size { columns: 80, rows: 24 };

static FRAME: Mutex<Option<Frame>> = Mutex::new(None);

/// A terminal's columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Characters in a row.
    pub columns: usize,
    /// Rows on the screen.
    pub rows: usize,
}

/// The stream on which the frame is painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

#[derive(Debug)]
struct Frame {
    stream: Stream,
    lines: Vec<String>,
}

impl Stream {
    /// Returns whether the stream is a terminal.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::Stderr => io::stderr().is_terminal(),
        }
    }

    /// Returns the terminal's current size, or 80 columns and 24 rows if it is unknown.
    pub fn size(self) -> Size {
        let size = match self {
            Self::Stdout => terminal_size_of(io::stdout()),
            Self::Stderr => terminal_size_of(io::stderr()),
        };
        match size {
            Some((columns, rows)) if columns.0 > 0 && rows.0 > 0 => {
                Size { columns: usize::from(columns.0), rows: usize::from(rows.0) }
            }
            _ => USUAL_SIZE,
        }
    }

    /// Returns the columns for lines that are written once. A file or a pipe has no limit.
    pub fn columns(self) -> usize {
        if self.is_terminal() { self.size().columns.max(MIN_COLUMNS) } else { usize::MAX }
    }

    fn write(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout => write_all(&mut io::stdout().lock(), bytes),
            Self::Stderr => write_all(&mut io::stderr().lock(), bytes),
        }
    }
}

fn write_all(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()
}

/// Replaces the last frame by the lines that `compose` returns for the terminal's size. Lines that
/// do not fit are counted instead.
///
/// # Errors
/// Returns an error if the terminal cannot be written.
pub fn paint(stream: Stream, compose: impl FnOnce(Size) -> Vec<String>) -> io::Result<()> {
    let size = stream.size();
    let lines = compose(Size { columns: size.columns.max(MIN_COLUMNS), ..size });
    let mut frame = FRAME.lock();
    let mut bytes = Vec::new();
    if let Some(last) = frame.take() {
        last.erase(&mut bytes, size.columns)?;
    }
    let next = Frame { stream, lines: shortened(lines, size) };
    next.print(&mut bytes)?;
    *frame = Some(next);
    stream.write(&bytes)
}

/// Keeps the last frame on the screen. Later output appears below it.
pub fn finish() {
    FRAME.lock().take();
}

/// Shortens the lines to the screen, whose last row remains free for the cursor.
fn shortened(mut lines: Vec<String>, size: Size) -> Vec<String> {
    let room = size.rows.saturating_sub(1).max(1);
    if lines.iter().map(|line| rows_of(line, size.columns)).sum::<usize>() <= room {
        return lines;
    }
    let mut rows = 1;
    let mut shown = 0;
    for line in &lines {
        rows += rows_of(line, size.columns);
        if rows > room {
            break;
        }
        shown += 1;
    }
    let left_out = lines.len() - shown;
    lines.truncate(shown);
    lines.push(format!("({left_out} more lines)"));
    lines
}

fn rows_of(line: &str, columns: usize) -> usize {
    width(line).div_ceil(columns.max(1)).max(1)
}

impl Frame {
    fn erase(&self, out: &mut Vec<u8>, columns: usize) -> io::Result<()> {
        let rows: usize = self.lines.iter().map(|line| rows_of(line, columns)).sum();
        queue!(out, MoveToColumn(0))?;
        if let Ok(rows @ 1..) = u16::try_from(rows) {
            queue!(out, MoveUp(rows))?;
        }
        queue!(out, Clear(ClearType::FromCursorDown))
    }

    fn print(&self, out: &mut Vec<u8>) -> io::Result<()> {
        self.lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    }
}

/// A writer for log lines, which appear on standard error above the frame.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogLines;

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let frame = FRAME.lock();
        let Some(frame) = frame.as_ref().filter(|_| Stream::Stderr.is_terminal()) else {
            io::stderr().write_all(bytes)?;
            return Ok(bytes.len());
        };
        let mut erasing = Vec::new();
        frame.erase(&mut erasing, frame.stream.size().columns)?;
        frame.stream.write(&erasing)?;
        io::stderr().write_all(bytes)?;
        let mut painting = Vec::new();
        frame.print(&mut painting)?;
        frame.stream.write(&painting)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_covers_the_last_frame_even_on_a_narrower_terminal() {
        let lines = vec!["x".repeat(70), "y".repeat(10)];
        let frame = Frame { stream: Stream::Stderr, lines };
        let mut bytes = Vec::new();
        frame.erase(&mut bytes, 80).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), "\u{1b}[1G\u{1b}[2A\u{1b}[J");
        bytes.clear();
        frame.erase(&mut bytes, 40).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), "\u{1b}[1G\u{1b}[3A\u{1b}[J");
    }

    #[test]
    fn lines_without_a_row_on_the_screen_are_counted() {
        let lines: Vec<String> = (0..30).map(|number| format!("line {number}")).collect();
        let shown = shortened(lines.clone(), Size { columns: 80, rows: 10 });
        assert_eq!(shown.len(), 9);
        assert_eq!(shown[8], "(22 more lines)");
        assert_eq!(shortened(lines.clone(), Size { columns: 80, rows: 31 }), lines);
    }
}
