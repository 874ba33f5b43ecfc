//! The motif for a host's icons: a background shape, a figure and two colours, drawn with integers.

use std::fmt::Write;

use super::canvas::Canvas;
use crate::dice::Dice;

const SIDE: i64 = 4_096;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Background {
    None,
    Square,
    Rounded,
    Disc,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Figure {
    Disc,
    Ring,
    Triangle,
    Diamond,
    Bars,
    Cross,
    /// A pattern with 5 x 5 cells and mirror symmetry. Bit `row * 3 + column` is a cell in the left
    /// three columns.
    Cells(u16),
}

#[derive(Clone, Debug)]
pub(super) struct Motif {
    background: Background,
    figure: Figure,
    pub(super) back: [u8; 3],
    pub(super) front: [u8; 3],
    shaded: bool,
}

impl Motif {
    pub(super) fn of_host(seed: u64, host: &str) -> Self {
        let mut dice = Dice::new(seed, &["motif", host]);
        let backgrounds = [
            (Background::None, 25),
            (Background::Square, 30),
            (Background::Rounded, 25),
            (Background::Disc, 20),
        ];
        let background = dice.weighted(&backgrounds);
        let cells = Figure::Cells((dice.below(0x7ffe) + 1) as u16);
        let figure = dice.pick(&[
            Figure::Disc,
            Figure::Ring,
            Figure::Triangle,
            Figure::Diamond,
            Figure::Bars,
            Figure::Cross,
            cells,
            cells,
            cells,
        ]);
        let hue = dice.below(1_536);
        let back = colour(hue, dice.between(60, 230));
        let front = match background {
            Background::None => colour(hue, 200),
            _ if dice.permille(600) => [255, 255, 255],
            _ => colour(hue + dice.between(400, 1_100), 255),
        };
        Self { background, figure, back, front, shaded: dice.permille(300) }
    }

    pub(super) fn is_opaque(&self) -> bool {
        self.background == Background::Square
    }

    pub(super) fn draw(&self, size: u32) -> Canvas {
        let samples: usize = if size <= 64 { 4 } else { 2 };
        let all = i64::from(size) * samples as i64;
        let points: Vec<_> = (0..all).map(|at| (2 * at + 1) * SIDE / (2 * all)).collect();
        let mut pixels = Vec::with_capacity((size as usize).saturating_mul(size as usize));
        for down in points.chunks_exact(samples) {
            for across in points.chunks_exact(samples) {
                // Array iterators are slow at the tests' low optimization level.
                let mut sum = [0_i64; 4];
                for &y in down {
                    for &x in across {
                        if let Some([red, green, blue]) = self.at(x, y) {
                            sum[0] += i64::from(red);
                            sum[1] += i64::from(green);
                            sum[2] += i64::from(blue);
                            sum[3] += 255;
                        }
                    }
                }
                pixels.push(average(sum, (samples * samples) as i64));
            }
        }
        Canvas { size, pixels }
    }

    fn at(&self, x: i64, y: i64) -> Option<[u8; 3]> {
        let colour = if self.figure_covers(x, y) {
            self.front
        } else if self.background_covers(x, y) {
            self.back
        } else {
            return None;
        };
        if !self.shaded {
            return Some(colour);
        }
        let darker = |part: u8| (i64::from(part) * (4 * SIDE - y) / (4 * SIDE)) as u8;
        let [red, green, blue] = colour;
        Some([darker(red), darker(green), darker(blue)])
    }

    fn background_covers(&self, x: i64, y: i64) -> bool {
        let centre = SIDE / 2;
        match self.background {
            Background::None => false,
            Background::Square => true,
            Background::Disc => within(x - centre, y - centre, centre),
            Background::Rounded => {
                let radius = SIDE / 5;
                let past = |at: i64| (radius - at).max(at - (SIDE - radius)).max(0);
                within(past(x), past(y), radius)
            }
        }
    }

    fn figure_covers(&self, x: i64, y: i64) -> bool {
        let (across, down) = (x - SIDE / 2, y - SIDE / 2);
        let radius =
            if self.background == Background::None { SIDE * 15 / 32 } else { SIDE * 10 / 32 };
        match self.figure {
            Figure::Disc => within(across, down, radius),
            Figure::Ring => within(across, down, radius) && !within(across, down, radius / 2),
            Figure::Triangle => down.abs() <= radius && 2 * across.abs() <= down + radius,
            Figure::Diamond => across.abs() + down.abs() <= radius,
            Figure::Bars => {
                let inside = across.abs() <= radius && down.abs() <= radius;
                inside && (across + radius) * 5 / (2 * radius + 1) % 2 == 0
            }
            Figure::Cross => {
                let (small, large) = sorted(across.abs(), down.abs());
                large <= radius && small <= radius / 3
            }
            Figure::Cells(bits) => {
                if across.abs() > radius || down.abs() > radius {
                    return false;
                }
                let cell = |at: i64| ((at + radius) * 5 / (2 * radius + 1)).clamp(0, 4);
                let column = cell(across).min(4 - cell(across));
                bits >> (cell(down) * 3 + column) & 1 == 1
            }
        }
    }

    pub(super) fn svg(&self, size: u32) -> Vec<u8> {
        let (back, front) = (hex(self.back), hex(self.front));
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" \
             width=\"{size}\" height=\"{size}\" viewBox=\"0 0 4096 4096\">\n"
        );
        let background = match self.background {
            Background::None => String::new(),
            Background::Square => format!("<path fill=\"{back}\" d=\"M0 0h4096v4096H0z\"/>\n"),
            Background::Rounded => {
                format!("<rect width=\"4096\" height=\"4096\" rx=\"819\" fill=\"{back}\"/>\n")
            }
            Background::Disc => {
                format!("<circle cx=\"2048\" cy=\"2048\" r=\"2048\" fill=\"{back}\"/>\n")
            }
        };
        text.push_str(&background);
        let radius = if self.background == Background::None { 1_920 } else { 1_280 };
        let _ = write!(text, "<g transform=\"translate(2048 2048) scale({radius})\"");
        let _ = writeln!(text, " fill=\"{front}\">{}</g>\n</svg>", self.figure_svg());
        text.into_bytes()
    }

    fn figure_svg(&self) -> String {
        match self.figure {
            Figure::Disc => "<circle r=\"1\"/>".to_owned(),
            Figure::Ring => "<path fill-rule=\"evenodd\" d=\"M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z\
                 M-.5 0a.5.5 0 1 0 1 0a.5.5 0 1 0-1 0z\"/>"
                .to_owned(),
            Figure::Triangle => "<path d=\"M0-1L1 1H-1z\"/>".to_owned(),
            Figure::Diamond => "<polygon points=\"0,-1 1,0 0,1 -1,0\"/>".to_owned(),
            Figure::Bars => "<path d=\"M-1-1h.4V1H-1zM-.2-1h.4V1h-.4zM.6-1H1V1H.6z\"/>".to_owned(),
            Figure::Cross => {
                "<path d=\"M-1-.33h2v.66h-2z\"/><path d=\"M-.33-1h.66v2h-.66z\"/>".to_owned()
            }
            Figure::Cells(bits) => cells_svg(bits),
        }
    }
}

fn cells_svg(bits: u16) -> String {
    let mut text = String::new();
    for (row, column) in (0..5_i32).flat_map(|row| (0..5_i32).map(move |column| (row, column))) {
        if bits >> (row * 3 + column.min(4 - column)) & 1 == 1 {
            let (x, y) = (column * 4 - 10, row * 4 - 10);
            let _ = write!(text, "<rect transform=\"scale(.1)\" x=\"{x}\" y=\"{y}\"");
            text.push_str(" width=\"4\" height=\"4\"/>");
        }
    }
    text
}

/// Converts premultiplied samples' sums to a colour with straight alpha.
fn average(sum: [i64; 4], samples: i64) -> [u8; 4] {
    let hits = sum[3] / 255;
    if hits == 0 {
        return [0; 4];
    }
    let part = |at: usize| (sum[at] / hits) as u8;
    [part(0), part(1), part(2), (sum[3] / samples) as u8]
}

fn within(across: i64, down: i64, radius: i64) -> bool {
    across * across + down * down <= radius * radius
}

fn sorted(one: i64, other: i64) -> (i64, i64) {
    (one.min(other), one.max(other))
}

/// `hue` is taken modulo 1536. `bright` is at most 255.
fn colour(hue: u64, bright: u64) -> [u8; 3] {
    let (sextant, rise) = (hue % 1_536 / 256, hue % 256);
    let fall = 255 - rise;
    let (red, green, blue) = match sextant {
        0 => (255, rise, 0),
        1 => (fall, 255, 0),
        2 => (0, 255, rise),
        3 => (0, fall, 255),
        4 => (rise, 0, 255),
        _ => (255, 0, fall),
    };
    [red, green, blue].map(|part| ((part * 3 + 255) / 4 * bright / 255) as u8)
}

fn hex(colour: [u8; 3]) -> String {
    format!("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2])
}
