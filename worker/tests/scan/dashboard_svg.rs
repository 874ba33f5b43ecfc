//! Draws the dashboard as SVG, so that a person can look at it without Grafana.

use std::fmt::Write as _;

use serde_json::Value;

const COLUMN: f64 = 58.0;
const ROW: f64 = 26.0;
const COLOURS: [&str; 10] = [
    "#2f7ed8", "#e07b39", "#3a9d5d", "#b2456e", "#7a5cc4", "#a08a1c", "#2aa0a4", "#c84b4b",
    "#6b7785", "#88a83a",
];

pub(crate) struct Line {
    pub(crate) name: String,
    /// Seconds and values.
    pub(crate) points: Vec<(f64, f64)>,
}

/// A panel. Its rectangle has x, y, width and height in grid cells.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) rectangle: [f64; 4],
    pub(crate) unit: String,
    pub(crate) lines: Vec<Line>,
}

/// Fills in a series' labels in a legend such as `{{kind}} {{state}}`.
pub(crate) fn legend(format: &str, labels: &Value) -> String {
    let mut parts = format.split("{{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (label, rest) = part.split_once("}}").unwrap_or((part, ""));
        text += labels[label].as_str().unwrap_or_default();
        text += rest;
    }
    text
}

/// Draws all panels. `seconds` has the first and the last time.
pub(crate) fn draw(title: &str, panels: &[Panel], seconds: (f64, f64)) -> String {
    let bottom =
        panels.iter().map(|panel| panel.rectangle[1] + panel.rectangle[3]).fold(0.0, f64::max);
    let (width, height) = (24.0 * COLUMN, (bottom + 2.0) * ROW);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#f4f5f7\"/>\n\
         <text x=\"12\" y=\"32\" font-size=\"20\">{}</text>\n",
        escaped(title)
    );
    for panel in panels {
        draw_panel(&mut svg, panel, seconds);
    }
    svg + "</svg>\n"
}

fn draw_panel(svg: &mut String, panel: &Panel, (start, end): (f64, f64)) {
    let [x, y, width, height] = panel.rectangle;
    let (left, top) = (x * COLUMN + 4.0, (y + 2.0) * ROW + 4.0);
    let (width, height) = (width * COLUMN - 8.0, height * ROW - 8.0);
    let title = escaped(&panel.title);
    if panel.lines.is_empty() {
        let _ = writeln!(
            svg,
            "<text x=\"{left}\" y=\"{}\" font-size=\"14\" font-weight=\"bold\">{title}</text>",
            top + 14.0
        );
        return;
    }
    // The largest first, because the legend has little room.
    let mut lines: Vec<(f64, &Line)> = panel.lines.iter().map(|line| (line.most(), line)).collect();
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    let most = lines.first().map(|line| line.0).filter(|most| *most > 0.0).unwrap_or(1.0);
    let (plot_left, plot_top) = (left + 54.0, top + 24.0);
    let (plot_width, plot_height) = (width - 64.0, height - 24.0 - 40.0);
    let _ = writeln!(
        svg,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"#fff\" \
         stroke=\"#d5d8dd\"/><text x=\"{}\" y=\"{}\" font-weight=\"bold\">{title}</text>",
        left + 8.0,
        top + 16.0
    );
    for part in [0.0, 0.5, 1.0] {
        let at = plot_top + plot_height * (1.0 - part);
        let _ = writeln!(
            svg,
            "<path d=\"M{plot_left:.0} {at:.1}h{plot_width:.0}\" stroke=\"#e3e5e9\"/><text \
             x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{}</text>",
            plot_left - 5.0,
            at + 4.0,
            amount(most * part, &panel.unit)
        );
    }
    let mut legend =
        Legend { left: plot_left, top: plot_top + plot_height + 16.0, width: plot_width, at: 0.0 };
    for (number, (_, line)) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let mut path = String::new();
        for (second, value) in &line.points {
            let x = plot_left + (second - start) / (end - start) * plot_width;
            let y = plot_top + plot_height * (1.0 - value / most);
            let verb = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{verb}{x:.0} {y:.0}");
        }
        let _ = writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\"/>");
        legend.add(svg, &line.name, colour);
    }
}

/// A panel's legend of two rows. Names that do not fit are skipped.
struct Legend {
    left: f64,
    top: f64,
    width: f64,
    /// The width written so far in both rows.
    at: f64,
}

impl Legend {
    fn add(&mut self, svg: &mut String, name: &str, colour: &str) {
        let wide = 6.0 * name.chars().count() as f64 + 14.0;
        let mut row = (self.at / self.width).floor();
        if self.at - row * self.width + wide > self.width {
            row += 1.0;
            self.at = row * self.width;
        }
        if row < 2.0 {
            let _ = writeln!(
                svg,
                "<text x=\"{:.0}\" y=\"{:.0}\" fill=\"{colour}\">{}</text>",
                self.left + self.at - row * self.width,
                self.top + 14.0 * row,
                escaped(name)
            );
        }
        self.at += wide;
    }
}

impl Line {
    fn most(&self) -> f64 {
        self.points.iter().map(|point| point.1).fold(0.0, f64::max)
    }
}

fn amount(value: f64, unit: &str) -> String {
    let (factor, name) = match unit {
        "bytes" | "Bps" if value >= 1e6 => (1e6, " MB"),
        "bytes" | "Bps" => (1e3, " kB"),
        "s" if value < 1.0 => (1e-3, " ms"),
        "s" => (1.0, " s"),
        _ => (1.0, ""),
    };
    let scaled = value / factor;
    let digits = if scaled >= 100.0 || scaled.fract() == 0.0 { 0 } else { 2 };
    format!("{scaled:.digits$}{name}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
