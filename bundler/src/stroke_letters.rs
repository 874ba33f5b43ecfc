//! Letters and digits as strokes, for pictures that are drawn without a font.

const GAP: u32 = 24;
const SPACE: u32 = 14;
/// Each character's width and SVG path. Capitals and digits extend from 0 to the baseline, which is
/// at 100.
const LETTERS: [(char, u32, &str); 28] = [
    ('E', 52, "M52 0H0V100H52M0 48H44"),
    ('T', 76, "M0 0H76M38 0V100"),
    ('a', 54, "M54 32V100M54 66A27 34 0 1 1 54 65"),
    ('b', 54, "M0 0V100M0 66A27 34 0 1 0 0 65"),
    ('c', 52, "M52 46A29 34 0 1 0 52 86"),
    ('e', 58, "M2 64H58A29 34 0 1 0 50 88"),
    ('h', 50, "M0 0V100M0 62Q0 33 26 33 50 33 50 62V100"),
    ('i', 0, "M0 32V100M0 8V9"),
    ('n', 50, "M0 32V100M0 62Q0 33 26 33 50 33 50 62V100"),
    ('o', 58, "M58 66A29 34 0 1 0 0 66A29 34 0 1 0 58 66"),
    ('r', 34, "M0 32V100M0 60A30 30 0 0 1 34 33"),
    ('s', 46, "M44 46Q38 32 23 32 3 32 3 49 3 62 23 66 45 70 45 84 45 100 23 100 6 100 0 87"),
    ('t', 34, "M14 8V80Q14 100 34 98M0 32H32"),
    ('v', 54, "M0 32 27 100 54 32"),
    ('w', 80, "M0 32 20 100 40 40 60 100 80 32"),
    ('y', 56, "M0 32 28 98M56 32 24 114Q18 130 2 128"),
    (',', 8, "M8 97V100L1 116"),
    ('0', 58, "M58 50A29 50 0 1 0 0 50A29 50 0 1 0 58 50"),
    ('1', 30, "M2 20 28 0V100"),
    ('2', 58, "M2 27Q6 0 29 0 56 0 56 28 56 44 40 60L0 100H58"),
    ('3', 58, "M4 16Q14 0 30 0 54 0 54 24 54 46 26 47 58 48 58 73 58 100 29 100 8 100 0 82"),
    ('4', 60, "M44 100V0L0 68H60"),
    ('5', 58, "M52 0H8L4 46Q14 36 28 36 58 36 58 68 58 100 28 100 8 100 0 84"),
    ('6', 58, "M50 12Q44 0 30 0 2 0 2 56 2 100 30 100 58 100 58 69 58 40 31 40 8 40 2 62"),
    ('7', 58, "M0 0H58L22 100"),
    ('8', 58, "M29 46A25 23 0 1 0 29 0A25 23 0 1 0 29 46A29 27 0 1 0 29 100A29 27 0 1 0 29 46"),
    ('9', 56, "M6 88Q12 100 26 100 54 100 54 44 54 0 26 0 -2 0 -2 31 -2 60 25 60 48 60 54 38"),
    (' ', SPACE, ""),
];

/// Returns SVG paths that draw the text, and its width.
pub(crate) fn paths(text: &str) -> (String, u32) {
    let mut svg = String::new();
    let mut left = 0;
    for character in text.chars() {
        let found = LETTERS.iter().find(|(letter, ..)| *letter == character);
        let (width, path) = found.map_or((SPACE, ""), |(_, width, path)| (*width, *path));
        if !path.is_empty() {
            svg += &format!("<path transform='translate({left} 0)' d='{path}'/>");
        }
        left += width + GAP;
    }
    (svg, left.saturating_sub(GAP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_one_path_a_character_and_grows_by_their_widths() {
        assert_eq!(paths(""), (String::new(), 0));
        let (svg, width) = paths("E a");
        assert_eq!(svg.matches("<path").count(), 2);
        assert_eq!(width, 52 + GAP + SPACE + GAP + 54);
        assert!(svg.contains("translate(114 0)"), "{svg}");
    }

    #[test]
    fn a_character_without_strokes_is_a_space() {
        assert_eq!(paths("a§b"), paths("a b"));
    }

    #[test]
    fn every_digit_and_letter_of_the_preview_has_strokes() {
        for character in "0123456789,Every website on the internet, one tab each tabs".chars() {
            assert!(LETTERS.iter().any(|(letter, ..)| *letter == character), "{character}");
        }
    }
}
