//! Folds white space and breaks lines. Preformatted blocks are buffered, because only a complete
//! block can be recognized as a drawing.

use super::page_text::PageText;
use crate::ascii_art::is_ascii_art;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Line,
}

pub(super) struct TextWriter {
    max_bytes: usize,
    written: PageText,
    gap: Gap,
    /// Nesting depth of preformatted blocks. `block` contains the lines of the outermost one.
    blocks: usize,
    block: String,
    /// A preformatted block before all other text, which is skipped if other text follows.
    first_block: Option<String>,
}

impl TextWriter {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            written: PageText::default(),
            gap: Gap::None,
            blocks: 0,
            block: String::new(),
            first_block: None,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.written.is_truncated
    }

    pub(super) fn text(&mut self, text: &str) {
        if self.blocks > 0 {
            // Allow more than `max_bytes`, because invisible marks and white space at line ends are
            // removed later.
            let free = (2 * self.max_bytes).saturating_sub(self.block.len());
            let end = text.floor_char_boundary(free);
            self.block.push_str(text.get(..end).unwrap_or_default());
            return;
        }
        let mut rest = text;
        while !rest.is_empty() && !self.is_full() {
            let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (word, after) = rest.split_at(length);
            self.word(word);
            rest = after.trim_start();
            if rest.len() < after.len() {
                self.space();
            }
        }
    }

    pub(super) fn space(&mut self) {
        if self.blocks > 0 {
            self.block.push(' ');
        }
        self.gap = self.gap.max(Gap::Space);
    }

    pub(super) fn line_break(&mut self) {
        if self.blocks > 0 && !self.block.is_empty() && !self.block.ends_with('\n') {
            self.block.push('\n');
        }
        self.gap = Gap::Line;
    }

    pub(super) fn start_block(&mut self) {
        self.blocks += 1;
    }

    pub(super) fn end_block(&mut self) {
        self.blocks = self.blocks.saturating_sub(1);
        if self.blocks > 0 {
            return;
        }
        let block = std::mem::take(&mut self.block);
        self.gap = Gap::Line;
        if block.chars().all(|c| is_removed(c) || c.is_whitespace()) {
            return;
        }
        if is_ascii_art(&block) {
            self.written.drawings_left_out += 1;
        } else if self.written.text.is_empty() && self.first_block.is_none() {
            self.first_block = Some(block);
        } else {
            self.lines(&block);
        }
        self.gap = Gap::Line;
    }

    pub(super) fn lines(&mut self, block: &str) {
        for line in block.split('\n') {
            // A tab becomes one space, as does any other control character that is white space.
            let as_space = |c: char| if c.is_control() { ' ' } else { c };
            let line: String = line.chars().filter(|c| !is_removed(*c)).map(as_space).collect();
            let line = line.trim_end();
            let line = if self.is_empty() { line.trim_start() } else { line };
            self.gap = Gap::Line;
            self.word(line);
            if self.is_full() {
                return;
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.written.text.is_empty()
    }

    fn word(&mut self, word: &str) {
        let is_shown = word.bytes().all(|byte| (b' '..0x7f).contains(&byte));
        if word.is_empty() || (!is_shown && word.chars().all(is_removed)) {
            return;
        }
        if self.first_block.take().is_some() {
            self.written.drawings_left_out += 1;
        }
        let text = &mut self.written.text;
        let gap = std::mem::replace(&mut self.gap, Gap::None);
        match gap {
            Gap::Line if !text.is_empty() => text.push('\n'),
            Gap::Space if !text.is_empty() => text.push(' '),
            _ => {}
        }
        if is_shown {
            text.push_str(word);
        } else {
            text.extend(word.chars().filter(|c| !is_removed(*c)));
        }
        if text.len() > self.max_bytes {
            text.truncate(text.floor_char_boundary(self.max_bytes));
            text.truncate(text.trim_end().len());
            self.written.is_truncated = true;
        }
    }

    pub(super) fn finish(mut self) -> PageText {
        if self.blocks > 0 {
            self.blocks = 1;
            self.end_block();
        }
        if let Some(block) = self.first_block.take() {
            self.lines(&block);
        }
        self.written
    }
}

/// Returns true for soft hyphens and other invisible marks, and for control characters except white
/// space.
fn is_removed(character: char) -> bool {
    (character.is_control() && !character.is_whitespace())
        || matches!(character, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}
