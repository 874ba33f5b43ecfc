//! Distinguishes character drawings from text in preformatted blocks.

/// Minimum run of equal characters in a drawing's line. Three would match an ellipsis.
const RUN_CHARACTERS: usize = 4;

/// A block is a drawing if more than one in this many lines contains a run, or at least one in this
/// many characters is a drawing character.
const DRAWN_PART: usize = 5;

pub(crate) fn is_ascii_art(block: &str) -> bool {
    let (mut lines, mut lines_with_run) = (0, 0);
    let (mut printable, mut drawn) = (0, 0);
    for line in block.lines() {
        let (mut last, mut run, mut longest) = (None, 0, 0);
        for character in line.chars() {
            run = if last == Some(character) { run + 1 } else { 1 };
            last = Some(character);
            if !is_printable(character) {
                run = 0;
                continue;
            }
            longest = run.max(longest);
            printable += 1;
            drawn += usize::from(is_for_drawing(character));
        }
        lines += usize::from(longest > 0);
        lines_with_run += usize::from(longest >= RUN_CHARACTERS);
    }
    DRAWN_PART * lines_with_run > lines || (printable > 0 && DRAWN_PART * drawn >= printable)
}

fn is_printable(character: char) -> bool {
    !character.is_whitespace() && !character.is_control()
}

/// The Unicode blocks Box Drawing, Block Elements, Dingbats and Braille Patterns.
fn is_for_drawing(character: char) -> bool {
    matches!(character, '\u{2500}'..='\u{259f}' | '\u{2700}'..='\u{27bf}' | '\u{2800}'..='\u{28ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_are_distinguished_from_text_and_programs() {
        for (block, expected) in [
            ("", false),
            ("\n \n", false),
            ("fn main() {\n    println!(\"hello\");\n}\n", false),
            // Indentation does not count as a run, because it is white space.
            ("        a\n        b\n        c", false),
            ("wait ...\nthen go", false),
            (" _____\n|     |\n|_____|", true),
            ("####\na\nb\nc", true),
            ("####\na\nb\nc\nd", false),
            ("####\n\n\na\nb\nc\n\n", true),
            ("### #\na", false),
            ("\u{2554}\u{2550}\u{2557}", true),
            ("\u{2588}\u{2580}ab", true),
            ("\u{28ff}\u{2801} abc", true),
            ("\u{2713} done", true),
            ("\u{2713} ended", false),
            ("\u{2713} milk\n\u{2713} eggs and bread", false),
            ("a | b | c\n--+--+--\n1 | 2 | 3", false),
            ("+----+----+\n| a  | b  |\n+----+----+", true),
        ] {
            assert_eq!(is_ascii_art(block), expected, "{block:?}");
        }
    }
}
