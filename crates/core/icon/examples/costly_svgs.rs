//! Searches for SVGs that take a long time to draw. `scripts/stress/costly-svgs.sh` runs this
//! program.
//!
//!     costly_svgs SECONDS FOLDER [SEED]
//!
//! This program creates each SVG from a list of numbers, and changes the lists at random. It keeps
//! the lists whose SVG is accepted and takes the most CPU time, in total or per unit of counted
//! work. So the search finds costs that the counted work does not include.
//!
//! It writes the most expensive files to FOLDER. The exit status is 1 if a file takes more than 50
//! ms in an optimised build, or if it causes a panic.
// This program measures, so it must read a clock and write files.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]

use std::{
    fmt::Write as _,
    panic::catch_unwind,
    path::Path,
    time::{Duration, Instant},
};

use everytab_icon::{convert::to_tab_icon, svg_work};

const MAX_BYTES: usize = 512 << 10;
const KEPT: usize = 40;
const LIMIT: Duration = Duration::from_millis(50);
const SHORT: Duration = Duration::from_millis(2);

/// Deterministic pseudo-random numbers (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, below: usize) -> usize {
        (self.next() % below.max(1) as u64) as usize
    }
}

/// After the last number, every choice is the first option.
struct Choices<'a> {
    numbers: &'a [u16],
    at: usize,
    ids: [usize; 6],
    text: String,
}

const UNITS: &str = "userSpaceOnUse";
const WIDTHS: &[&str] = &[".1", "0", "1", "9", "300", ".001", "5000", "90000", "2%"];
const DASHES: &[&str] = &["1", ".1", ".01", "3 .2", "50", "1 2 3 4 5 6 7"];
const TRANSFORMS: &[&str] = &[
    "scale(9)",
    "rotate(33)",
    "scale(.01)",
    "skewX(80)",
    "translate(9)",
    "scale(300)",
    "matrix(7 1 -1 7 0 0)",
    "rotate(1) scale(.02)",
];
const VIEWS: &[&str] = &["32", "9", ".1", "1000"];
const SIDES: &[&str] = &[
    "",
    " width='9' height='9'",
    " width='32' height='32'",
    " width='9000'",
    " height='.1'",
    " width='300%'",
    " width='9px ' height='9em'",
];
const KINDS: [&str; 6] = ["e", "f", "p", "m", "c", "k"];

impl Choices<'_> {
    fn number(&mut self) -> usize {
        let number = self.numbers.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(number)
    }

    fn of<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.number() % among.len()]
    }

    fn count(&mut self) -> usize {
        let most = self.of(&[1, 2, 3, 8, 40, 200, 1_000, 5_000, 20_000]);
        1 + self.number() % most
    }

    fn is_full(&self) -> bool {
        self.text.len() > MAX_BYTES - 4_000
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn reference(&mut self, kind: usize) -> String {
        match self.ids[kind] {
            0 => "none".to_owned(),
            known => format!("url(#{}{})", KINDS[kind], self.number() % known),
        }
    }

    fn new_id(&mut self, kind: usize) -> String {
        self.ids[kind] += 1;
        format!("{}{}", KINDS[kind], self.ids[kind] - 1)
    }

    fn document(mut self) -> String {
        let side = self.of(&["32", "9", "1000", "0.1", "100000"]);
        let _ = write!(
            self.text,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}">"#
        );
        while self.at < self.numbers.len() && !self.is_full() {
            match self.number() % 8 {
                0 => self.filter(),
                1 => self.container("pattern", 2),
                2 => self.container("mask", 3),
                3 => self.container("clipPath", 4),
                4 => self.container("marker", 5),
                5 => self.style(),
                _ => self.element(0),
            }
        }
        self.push("</svg>");
        self.text
    }

    fn style(&mut self) {
        self.push("<style>");
        for _ in 0..self.count() {
            if self.is_full() {
                break;
            }
            let selector = self.of(&["*", "g", "path", "g *", "g > path", ".a", "[id]", "g g g"]);
            let paint = self.of(&["fill:red", "stroke:#123", "opacity:.5", "stroke-width:3"]);
            let _ = write!(self.text, "{selector}{{{paint}}}");
        }
        self.push("</style>");
    }

    fn container(&mut self, name: &str, kind: usize) {
        let id = self.new_id(kind);
        let side = self.of(&["1", ".01", "0.3", "32", "500"]);
        let _ = match kind {
            2 => write!(
                self.text,
                r#"<{name} id="{id}" width="{side}" height="{side}" patternUnits="{UNITS}">"#
            ),
            5 => write!(
                self.text,
                r#"<marker id="{id}" markerWidth="{side}" markerHeight="{side}">"#
            ),
            _ => write!(self.text, r#"<{name} id="{id}">"#),
        };
        for _ in 0..1 + self.number() % 3 {
            self.element(1);
        }
        let _ = write!(self.text, "</{name}>");
    }

    fn filter(&mut self) {
        let id = self.new_id(1);
        let region = self.of(&["0", "-1", "-50"]);
        let _ = write!(
            self.text,
            r#"<filter id="{id}" x="{region}" y="{region}" width="100" height="100">"#
        );
        for _ in 0..self.count().min(60) {
            let size = self.of(&["1", "0.01", "3", "20", "500", "9 1"]);
            let primitive = self.of(&[
                "feGaussianBlur stdDeviation",
                "feMorphology operator='dilate' radius",
                "feTurbulence numOctaves='9' baseFrequency",
                "feDropShadow stdDeviation",
                "feDisplacementMap in2='SourceGraphic' scale",
                "feConvolveMatrix order='3' kernelMatrix='1 1 1 1 1 1 1 1 1' divisor",
                "feOffset dx",
                "feTile x",
                "feFlood flood-opacity",
                "feComposite operator='arithmetic' k1='1' in2='SourceGraphic' k2",
                "feBlend mode='soft-light' in2='SourceGraphic' x",
                "feColorMatrix type='hueRotate' values",
            ]);
            let _ = write!(self.text, r#"<{primitive}="{size}"/>"#);
        }
        self.push("</filter>");
    }

    fn attributes(&mut self) {
        for _ in 0..self.number() % 5 {
            let attribute = match self.number() % 14 {
                0 => format!(r#" stroke="{}""#, self.of(&["red", "#12345678", "none"])),
                1 => format!(r#" stroke-width="{}""#, self.of(WIDTHS)),
                2 => format!(r#" stroke-dasharray="{}""#, self.of(DASHES)),
                3 => format!(r#" stroke-linejoin="{}""#, self.of(&["round", "bevel", "miter"])),
                4 => format!(r#" stroke-linecap="{}""#, self.of(&["round", "square", "butt"])),
                5 => format!(r#" fill="{}""#, self.reference(2)),
                6 => format!(r#" stroke="{}""#, self.reference(2)),
                7 => format!(r#" filter="{}""#, self.reference(1)),
                8 => format!(r#" mask="{}""#, self.reference(3)),
                9 => format!(r#" clip-path="{}""#, self.reference(4)),
                10 => format!(r#" marker-mid="{}""#, self.reference(5)),
                11 => format!(r#" transform="{}""#, self.of(TRANSFORMS)),
                12 => format!(
                    r#" style="mix-blend-mode:{}""#,
                    self.of(&["multiply", "hue", "soft-light"])
                ),
                _ => format!(r#" opacity="{}""#, self.of(&[".5", ".99", "0"])),
            };
            if !self.text.ends_with(&attribute) {
                self.push(&attribute);
            }
        }
    }

    fn element(&mut self, depth: usize) {
        let times = self.count();
        let begin = self.text.len();
        match self.number() % 8 {
            0..3 => self.path(),
            3 if depth < 12 => {
                let id = self.new_id(0);
                let tag = self.of(&["g", "g", "symbol", "svg"]);
                let _ = write!(self.text, r#"<{tag} id="{id}""#);
                if tag != "g" {
                    let (across, down) = (self.of(VIEWS), self.of(VIEWS));
                    let sides = self.of(SIDES);
                    let _ = write!(self.text, r#" viewBox="0 0 {across} {down}"{sides}"#);
                }
                self.attributes();
                self.push(">");
                for _ in 0..1 + self.number() % 4 {
                    self.element(depth + 1);
                }
                let _ = write!(self.text, "</{tag}>");
                return;
            }
            4 if self.ids[0] > 0 => {
                let of = match self.number() % 3 {
                    0 => self.ids[0] - 1,
                    _ => self.number() % self.ids[0],
                };
                let sides = self.of(SIDES);
                let _ = write!(self.text, r##"<use href="#e{of}"{sides}"##);
                self.attributes();
                self.push("/>");
            }
            5 => {
                let letters = self.of(&["a", "@@@@@@@@", "W g", "é"]);
                let _ = write!(self.text, r#"<text y="20""#);
                self.attributes();
                let letters = letters.repeat(1 + self.number() % 30);
                let _ = write!(self.text, ">{letters}</text>");
            }
            _ => {
                let shape = self.of(&[
                    r#"circle cx="16" cy="16" r="15""#,
                    r#"rect width="32" height="32" rx="9""#,
                    r#"ellipse rx="900" ry="7""#,
                    r#"rect width="99999" height="99999""#,
                    r#"line x2="900" y2="31""#,
                ]);
                let _ = write!(self.text, "<{shape}");
                self.attributes();
                self.push("/>");
            }
        }
        let one = self.text[begin..].to_owned();
        for _ in 1..times {
            if self.text.len() + one.len() > MAX_BYTES - 4_000 {
                break;
            }
            self.push(&one);
        }
    }

    fn path(&mut self) {
        self.push("<path");
        self.attributes();
        self.push(r#" d="M0 0"#);
        let range = self.of(&[32, 4, 500, 2_000, 8_000, 60_000, 900_000]);
        let (command, numbers) =
            self.of(&[('L', 2), ('C', 6), ('Q', 4), ('T', 2), ('S', 4), ('H', 1), ('l', 2)]);
        let count = self.count();
        let mut noise = Random(self.number() as u64 + 1);
        let is_arc = self.number().is_multiple_of(4);
        let radius = self.of(&[1, 100, 10_000, 1_000_000]);
        self.text.push(if is_arc { 'A' } else { command });
        for _ in 0..count {
            if self.is_full() {
                break;
            }
            if is_arc {
                let (x, y) = (noise.below(range), noise.below(range));
                let (rx, ry) = (x * radius + 1, y * radius + 1);
                let large = self.at % 2;
                let _ = write!(self.text, "{rx} {ry} 9 {large} 0 {x} {y} ");
                continue;
            }
            for _ in 0..numbers {
                let _ = write!(self.text, "{} ", noise.below(range));
            }
        }
        self.push(r#""/>"#);
    }
}

#[derive(Clone)]
struct Tried {
    numbers: Vec<u16>,
    took: Duration,
    work: u64,
}

impl Tried {
    fn per_unit(&self) -> f64 {
        self.took.as_secs_f64() * 1e9 / self.work.max(1) as f64
    }
}

fn svg_of(numbers: &[u16]) -> String {
    Choices { numbers, at: 0, ids: [0; 6], text: String::new() }.document()
}

/// Falls back to the time since `began` if the kernel does not report CPU times.
fn processor_time(began: Instant) -> Duration {
    // The kernel updates this value when the thread yields.
    std::thread::yield_now();
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = line.split(' ').next().and_then(|number| number.parse().ok());
    nanoseconds.map_or_else(|| began.elapsed(), Duration::from_nanos)
}

/// Returns the CPU time for converting an SVG: the minimum of three runs, or of one run if it is
/// short.
fn time(svg: &str) -> Duration {
    let began = Instant::now();
    let once = || {
        let before = processor_time(began);
        let _ = to_tab_icon(svg.as_bytes());
        processor_time(began).saturating_sub(before)
    };
    let first = once();
    if first < SHORT { first } else { first.min(once()).min(once()) }
}

fn changed(numbers: &[u16], other: &[u16], random: &mut Random) -> Vec<u16> {
    let mut numbers = numbers.to_vec();
    for _ in 0..1 + random.below(4) {
        let (from, to) = (random.below(numbers.len()), random.below(numbers.len()));
        let (from, to) = (from.min(to), from.max(to));
        match random.below(6) {
            0 if !numbers.is_empty() => numbers[from] = random.next() as u16,
            1 => numbers.extend((0..1 + random.below(12)).map(|_| random.next() as u16)),
            2 => drop(numbers.drain(from..to.min(from + 8))),
            3 => {
                let part = numbers[from..to].to_vec();
                numbers.splice(from..from, part);
            }
            4 => {
                let from = random.below(other.len());
                let part = other[from..].iter().take(1 + random.below(20)).copied();
                numbers.splice(to..to, part);
            }
            _ if !numbers.is_empty() => {
                numbers[from] = numbers[from].wrapping_add(random.below(5) as u16).wrapping_sub(2);
            }
            _ => {}
        }
    }
    numbers.truncate(400);
    numbers
}

fn usage() -> ! {
    eprintln!("usage: costly_svgs SECONDS FOLDER [SEED]");
    std::process::exit(2);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (seconds, folder, seed) = match arguments.as_slice() {
        [seconds, folder] => (seconds.parse(), folder, Ok(1)),
        [seconds, folder, seed] => (seconds.parse(), folder, seed.parse()),
        _ => usage(),
    };
    let (Ok(seconds), Ok(seed)) = (seconds, seed) else { usage() };
    let seconds = Duration::from_secs(seconds);
    let folder = Path::new(folder);
    let mut random = Random(u64::max(seed, 1));
    std::fs::create_dir_all(folder).unwrap();
    let (mut by_time, mut by_unit): (Vec<Tried>, Vec<Tried>) = (Vec::new(), Vec::new());
    let began = Instant::now();
    let mut tried = 0u64;
    let mut accepted = 0u64;
    while began.elapsed() < seconds {
        let pool = if random.below(2) == 0 { &by_time } else { &by_unit };
        let numbers = if pool.is_empty() || random.below(20) == 0 {
            (0..1 + random.below(60)).map(|_| random.next() as u16).collect()
        } else {
            let [one, other] = [(); 2].map(|()| &pool[random.below(pool.len())].numbers);
            changed(one, other, &mut random)
        };
        tried += 1;
        let svg = svg_of(&numbers);
        let Ok(work) = catch_unwind(|| svg_work(svg.as_bytes())) else {
            std::fs::write(folder.join("panics.svg"), &svg).unwrap();
            eprintln!("a panic: see {}/panics.svg", folder.display());
            std::process::exit(1);
        };
        let Ok(work) = work else { continue };
        accepted += 1;
        let one = Tried { took: time(&svg), numbers, work };
        if one.took >= SHORT
            && (by_unit.len() < KEPT || one.per_unit() > by_unit[KEPT - 1].per_unit())
        {
            by_unit.push(one.clone());
            by_unit.sort_by(|a, b| b.per_unit().total_cmp(&a.per_unit()));
            by_unit.truncate(KEPT);
        }
        if by_time.len() < KEPT || one.took > by_time[KEPT - 1].took {
            by_time.push(one);
            by_time.sort_by_key(|tried| std::cmp::Reverse(tried.took));
            by_time.truncate(KEPT);
        }
    }
    println!("seed {seed}: {tried} tried, {accepted} accepted");
    let mut is_over = false;
    for (name, list) in [("time", &by_time), ("unit", &by_unit)] {
        for (place, tried) in list.iter().take(3).enumerate() {
            let svg = svg_of(&tried.numbers);
            // Another program may have slowed down the first measurement.
            let took = (0..5).map(|_| time(&svg)).min().unwrap_or(tried.took);
            std::fs::write(folder.join(format!("{name}-{place}.svg")), &svg).unwrap();
            is_over |= took > LIMIT;
            println!(
                "{name} {place}: {:.1} ms, {:.1} million units, {:.2} ns a unit, {} bytes",
                took.as_secs_f64() * 1e3,
                tried.work as f64 / 1e6,
                took.as_secs_f64() * 1e9 / tried.work.max(1) as f64,
                svg.len()
            );
        }
    }
    // Debug builds are too slow for the limit.
    std::process::exit(i32::from(is_over && !cfg!(debug_assertions)));
}
