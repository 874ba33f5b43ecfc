//! Fits text into a terminal's columns (at least [`MIN_COLUMNS`]). A word is cut only if it does
//! not fit into a line. Widths are terminal cells. Control characters never reach the terminal,
//! because messages from peers may contain some.

use unicode_width::UnicodeWidthStr as _;

/// Minimum number of columns in a display.
pub const MIN_COLUMNS: usize = 40;

/// Start column for a labelled line's text: the longest label, `bundle-shard`, and a space.
pub const LABEL_COLUMNS: usize = 13;

/// Returns the width of a string in terminal cells.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Replaces each control character with U+FFFD.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A part that is omitted from a line if it does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Optional {
    /// Parts with a lower rank are preferred to parts with a higher one.
    pub rank: u8,
    /// The text, with the spaces that separate it from the preceding text.
    pub text: String,
}

/// Returns `first` and the optional parts that fit into `columns`, in their original order. Those
/// with the lowest ranks are preferred.
pub fn fitting(first: &str, optional: &[Optional], columns: usize) -> String {
    let first = cut(&printable(first), columns);
    let mut room = columns - width(&first);
    let mut ranked: Vec<usize> = (0..optional.len()).collect();
    ranked.sort_by_key(|index| optional[*index].rank);
    let mut kept = Vec::new();
    for index in ranked {
        let cells = width(&optional[index].text);
        if cells <= room {
            room -= cells;
            kept.push(index);
        }
    }
    kept.sort_unstable();
    kept.into_iter().fold(first, |line, index| line + &printable(&optional[index].text))
}

/// Formats a labelled list such as `icon  50 = ok 43 + http_5xx 4 + 2 more 3`, with as many items
/// as fit.
pub fn counted(head: &str, items: &[(String, u64)], tail: &str, columns: usize) -> String {
    for shown in (0..=items.len()).rev() {
        let mut parts: Vec<String> =
            items[..shown].iter().map(|(name, amount)| format!("{name} {amount}")).collect();
        let rest = &items[shown..];
        if !rest.is_empty() {
            let amount: u64 = rest.iter().map(|(_, amount)| amount).sum();
            parts.push(format!("{} more {amount}", rest.len()));
        }
        let line = printable(&format!("{head}{}{tail}", parts.join(" + ")));
        if width(&line) <= columns || shown == 0 {
            return cut(&line, columns);
        }
    }
    cut(&printable(head), columns)
}

/// Wraps a labelled text at spaces. The text starts at column `indent`.
pub fn wrapped(label: &str, indent: usize, text: &str, columns: usize) -> Vec<String> {
    let room = columns.saturating_sub(indent).max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut gap = 0;
    for word in printable(text).split(' ') {
        if word.is_empty() {
            gap += 1;
            continue;
        }
        for (number, piece) in pieces(word, room).into_iter().enumerate() {
            let gap = if number == 0 { gap } else { 0 };
            if !line.is_empty() && width(&line) + gap + width(&piece) > room {
                lines.push(std::mem::take(&mut line));
            } else if !line.is_empty() {
                line.push_str(&" ".repeat(gap));
            }
            line.push_str(&piece);
        }
        gap = 1;
    }
    lines.push(line);
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    lines
        .into_iter()
        .zip(labels)
        .map(|(line, label)| format!("{label:<indent$}{line}").trim_end().to_owned())
        .collect()
}

/// Joins the parts of a row, two spaces apart, and wraps between parts. A part without spaces, such
/// as a URL, is not wrapped, so that it can be copied as a whole.
pub fn row(parts: &[&str], columns: usize) -> Vec<String> {
    const GAP: &str = "  ";
    const INDENT: usize = 4;
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let part = printable(part);
        match lines.last_mut() {
            Some(line) if width(line) + GAP.len() + width(part.trim_end()) <= columns => {
                line.push_str(GAP);
                line.push_str(&part);
            }
            None => lines.push(part),
            Some(_) if part.contains(' ') => lines.extend(wrapped("", INDENT, &part, columns)),
            Some(_) => lines.push(" ".repeat(INDENT) + &part),
        }
    }
    lines
}

fn pieces(word: &str, room: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for character in word.chars() {
        let cells = width(character.encode_utf8(&mut [0; 4]));
        let last = pieces.last().map_or(0, |piece| width(piece));
        if last + cells > room {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
    }
    pieces
}

fn cut(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let mut shown = String::new();
    for character in line.chars() {
        shown.push(character);
        if width(&shown) + 1 > columns {
            shown.pop();
            break;
        }
    }
    let whole_words = match shown.rfind(' ') {
        Some(end) if !line[shown.len()..].starts_with(' ') && end > LABEL_COLUMNS => &shown[..end],
        _ => shown.as_str(),
    };
    format!("{}…", whole_words.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes() -> Vec<(String, u64)> {
        [("ok", 37_241), ("http_404_410", 5_386), ("not_image_html", 991), ("dns_nxdomain", 686)]
            .map(|(name, amount)| (name.to_owned(), amount))
            .to_vec()
    }

    #[test]
    fn the_largest_outcomes_are_shown_and_the_rest_is_counted() {
        assert_eq!(
            counted("icon         44304 = ", &outcomes(), "", 80),
            "icon         44304 = ok 37241 + http_404_410 5386 + 2 more 1677"
        );
        assert_eq!(
            counted("icon         44304 = ", &outcomes(), "", 200),
            "icon         44304 = ok 37241 + http_404_410 5386 + not_image_html 991 + \
             dns_nxdomain 686"
        );
        assert_eq!(
            counted("icon         44304 = ", &outcomes(), "", 40),
            "icon         44304 = 4 more 44304"
        );
    }

    #[test]
    fn every_line_fits_every_width_from_the_narrowest_on() {
        let text = "the resolver 192.0.2.1:53 does not answer: \
                    ayyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyylongword 日本語";
        for columns in MIN_COLUMNS..220 {
            let optional = [(2, " one"), (1, " two")];
            let optional = optional.map(|(rank, text)| Optional { rank, text: text.to_owned() });
            for line in wrapped("worker", LABEL_COLUMNS, text, columns)
                .into_iter()
                .chain([counted("icon         44304 = ", &outcomes(), "", columns)])
                .chain([fitting(text, &optional, columns), fitting("icon", &optional, columns)])
            {
                assert!(width(&line) <= columns, "{columns}: {line:?}");
            }
        }
    }

    #[test]
    fn words_stay_whole_and_later_lines_stand_below_the_first() {
        assert_eq!(
            wrapped("worker", LABEL_COLUMNS, "a:1:x  2 leases (warc, icon)  oldest 1m00s", 36),
            ["worker       a:1:x  2 leases (warc,", "             icon)  oldest 1m00s"]
        );
        assert_eq!(cut("worker       one two three", 22), "worker       one two…");
    }

    #[test]
    fn a_row_is_broken_between_its_parts_and_a_url_is_never_broken() {
        let url = format!("https://a.test/{}", "x".repeat(40));
        let parts = ["0-1-1", "2026-11-25 22:10:03", "200 ok              120 ms", url.as_str()];
        assert_eq!(row(&parts, usize::MAX), [parts.join("  ")]);
        let first = parts[..2].join("  ");
        let rest = ["    200 ok              120 ms".to_owned(), format!("    {url}")];
        assert_eq!(row(&parts, 40), [&[first], &rest[..]].concat());
        assert_eq!(row(&parts, 80), [parts[..3].join("  "), format!("    {url}")]);
        assert_eq!(
            row(&["key", "ten requests a second, no page today"], 30),
            ["key", "    ten requests a second, no", "    page today"]
        );
    }

    #[test]
    fn parts_of_a_low_rank_stay_where_not_all_fit() {
        let optional = [(3, " items"), (1, " eta 5s"), (2, " 9/s")];
        let optional = optional.map(|(rank, text)| Optional { rank, text: text.to_owned() });
        assert_eq!(fitting("icon", &optional, 99), "icon items eta 5s 9/s");
        assert_eq!(fitting("icon", &optional, 16), "icon eta 5s 9/s");
        assert_eq!(fitting("icon", &optional, 11), "icon eta 5s");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(
            wrapped("error", LABEL_COLUMNS, "a\u{1b}[2Jb", 60),
            ["error        a\u{fffd}[2Jb"]
        );
    }
}
