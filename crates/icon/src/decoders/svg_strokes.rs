//! Estimates the work of outlining stroked shapes, which usvg does to compute their bounds.
//!
//! A longer curve becomes more pieces. Beyond a few thousand units, tiny-skia's 32-bit floats no
//! longer distinguish its points, and each curve is divided as often as the limits allow: 4 ms per
//! curve were measured, compared with 0.04 ms below. Does not depend on styles, or on the drawing.

use resvg::usvg::roxmltree::Node;

/// Work per number of a line, and of a curve by its largest coordinate.
const LINE_WORK: u64 = 150;
const CURVE_WORK: [(f64, u64); 4] =
    [(512.0, 1_400), (2_048.0, 8_000), (8_192.0, 70_000), (f64::INFINITY, 700_000)];
/// Work of a rectangle, circle or ellipse.
const SHAPE_WORK: u64 = 20_000;

/// Returns the units of work of an element's outline, if it is stroked.
pub(crate) fn outline_work(node: Node<'_, '_>) -> u64 {
    match node.tag_name().name() {
        "rect" | "circle" | "ellipse" => SHAPE_WORK,
        "polygon" | "polyline" => {
            node.attribute("points").map_or(0, |points| points.len() as u64 / 2 * LINE_WORK)
        }
        "path" => node.attribute("d").map_or(0, path_work),
        _ => 0,
    }
}

fn path_work(data: &str) -> u64 {
    let mut reader = Reader { bytes: data.as_bytes(), at: 0 };
    let mut pen = Pen::default();
    while let Some(&byte) = reader.bytes.get(reader.at) {
        if byte.is_ascii_alphabetic() {
            pen.begin(byte);
            reader.at += 1;
        } else if matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+') {
            let number = reader.number(pen.expects_flag());
            pen.number(number);
        } else {
            reader.at += 1;
        }
    }
    if !pen.curves {
        return pen.count * LINE_WORK;
    }
    // The control point of `T` is the previous curve's, reflected, so it moves away each time.
    let longest = pen.longest * (1 + pen.reflected) as f64;
    let each = CURVE_WORK.iter().find(|(most, _)| longest <= *most).map_or(700_000, |it| it.1);
    pen.count.saturating_mul(each)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// Reads a number, or a flag of one digit. Invalid numbers count as 0.
    fn number(&mut self, is_flag: bool) -> f64 {
        let start = self.at;
        self.at += 1;
        if !is_flag {
            let (mut point, mut exponent) = (self.bytes[start] == b'.', false);
            while let Some(&byte) = self.bytes.get(self.at) {
                let previous = self.bytes[self.at - 1];
                match byte {
                    b'0'..=b'9' => {}
                    b'.' if !point && !exponent => point = true,
                    b'e' | b'E' if !exponent => exponent = true,
                    b'-' | b'+' if matches!(previous, b'e' | b'E') => {}
                    _ => break,
                }
                self.at += 1;
            }
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        text.parse().unwrap_or(0.0)
    }
}

/// Follows a path to find how far its points are from the origin.
#[derive(Default)]
struct Pen {
    command: u8,
    numbers: Vec<f64>,
    at: (f64, f64),
    start: (f64, f64),
    /// Number of numbers, number of `T` commands, and the largest coordinate or radius.
    count: u64,
    reflected: u64,
    longest: f64,
    curves: bool,
}

impl Pen {
    fn begin(&mut self, command: u8) {
        self.command = command;
        self.numbers.clear();
        self.curves |= b"aAcCqQsStT".contains(&command);
        if command.eq_ignore_ascii_case(&b'z') {
            self.at = self.start;
        }
    }

    fn expects_flag(&self) -> bool {
        self.command.eq_ignore_ascii_case(&b'a') && matches!(self.numbers.len(), 3 | 4)
    }

    fn number(&mut self, number: f64) {
        self.count += 1;
        self.numbers.push(number);
        let wanted = match self.command.to_ascii_lowercase() {
            b'c' => 6,
            b's' | b'q' => 4,
            b'a' => 7,
            b'h' | b'v' => 1,
            _ => 2,
        };
        if self.numbers.len() >= wanted {
            self.segment();
        }
    }

    fn segment(&mut self) {
        let from = if self.command.is_ascii_lowercase() { self.at } else { (0.0, 0.0) };
        let count = self.numbers.len();
        let last = self.numbers[count - 1];
        self.at = match self.command.to_ascii_lowercase() {
            b'h' => (from.0 + last, self.at.1),
            b'v' => (self.at.0, from.1 + last),
            _ => (from.0 + self.numbers[count - 2], from.1 + last),
        };
        for number in &self.numbers {
            let far = number.abs() + from.0.abs().max(from.1.abs());
            self.longest = self.longest.max(far);
        }
        if self.command.eq_ignore_ascii_case(&b'm') {
            self.start = self.at;
        }
        self.reflected += u64::from(self.command.eq_ignore_ascii_case(&b't'));
        self.numbers.clear();
    }
}
