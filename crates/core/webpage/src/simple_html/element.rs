//! The elements in simple HTML, and how a page's elements map to them.

use crate::text::{Element, Flow};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Block,
    /// A block that the next block ends.
    Paragraph,
    Heading,
    Quote,
    List,
    Item,
    Preformatted,
    /// A `table` tag. The table is written when its first row starts, so that a caption precedes
    /// it.
    TableFrame,
    Table,
    /// `thead`, `tbody` and `tfoot`, which are not written but end a row.
    RowGroup,
    Row,
    Cell,
    Inline,
    Link,
    /// A picture, without content.
    Image,
    /// A line break, without content.
    Break,
    Rule,
    /// A button, which is not written, but whose words are separated from the text around it.
    Apart,
    Hidden,
    /// The tag is not written, but the content is.
    Transparent,
}

impl Role {
    pub(super) fn is_block(self) -> bool {
        use Role::{
            Block, Cell, Heading, Item, List, Paragraph, Preformatted, Quote, Row, RowGroup, Rule,
            Table, TableFrame,
        };
        matches!(
            self,
            Block
                | Paragraph
                | Heading
                | Quote
                | List
                | Item
                | Preformatted
                | TableFrame
                | Table
                | RowGroup
                | Row
                | Cell
                | Rule
        )
    }

    /// Returns true if converters indent this element's content.
    pub(super) fn is_indented(self) -> bool {
        matches!(self, Self::List | Self::Quote)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    /// Empty if this element is not written.
    pub(super) name: &'static str,
    pub(super) role: Role,
    /// An attribute that replaces the name, so that programs recognize navigation and similar
    /// parts.
    pub(super) hint: &'static str,
}

impl Kind {
    pub(super) const fn new(name: &'static str, role: Role) -> Self {
        Self { name, role, hint: "" }
    }

    pub(super) fn of(name: &[u8], element: &Element) -> Self {
        match element.flow {
            Flow::Hidden | Flow::HiddenUnlessOpen => return Self::new("", Role::Hidden),
            Flow::Apart => return Self::new("", Role::Apart),
            Flow::Preformatted => return Self::new("pre", Role::Preformatted),
            _ => {}
        }
        let mut buffer = [0; MAX_NAME_LENGTH];
        let Some(lower) = buffer.get_mut(..name.len()) else { return TRANSPARENT };
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        kind_of(lower)
    }
}

/// Elements whose tag is dropped and whose content is written.
pub(super) const TRANSPARENT: Kind = Kind::new("", Role::Transparent);

/// Length of the longest name in this list (`blockquote`, `figcaption`).
const MAX_NAME_LENGTH: usize = 10;

fn kind_of(name: &[u8]) -> Kind {
    let block = |hint| Kind { name: "div", role: Role::Block, hint };
    match name {
        b"p" | b"dd" | b"dt" | b"figcaption" | b"legend" | b"summary" => {
            Kind::new("p", Role::Paragraph)
        }
        b"h1" => Kind::new("h1", Role::Heading),
        b"h2" => Kind::new("h2", Role::Heading),
        b"h3" => Kind::new("h3", Role::Heading),
        b"h4" => Kind::new("h4", Role::Heading),
        b"h5" => Kind::new("h5", Role::Heading),
        b"h6" => Kind::new("h6", Role::Heading),
        b"article" => Kind::new("article", Role::Block),
        b"section" => Kind::new("section", Role::Block),
        b"nav" => block(" role=\"navigation\""),
        b"aside" => block(" role=\"complementary\""),
        b"header" | b"hgroup" | b"footer" | b"main" | b"div" | b"address" | b"center"
        | b"details" | b"dl" | b"fieldset" | b"figure" | b"search" | b"caption" => block(""),
        b"blockquote" => Kind::new("blockquote", Role::Quote),
        b"ul" | b"dir" | b"menu" => Kind::new("ul", Role::List),
        b"ol" => Kind::new("ol", Role::List),
        b"li" => Kind::new("li", Role::Item),
        b"table" => Kind::new("", Role::TableFrame),
        b"thead" | b"tbody" | b"tfoot" => Kind::new("", Role::RowGroup),
        b"tr" => Kind::new("tr", Role::Row),
        b"td" => Kind::new("td", Role::Cell),
        b"th" => Kind::new("th", Role::Cell),
        b"a" => Kind::new("a", Role::Link),
        b"b" | b"strong" => Kind::new("strong", Role::Inline),
        b"i" | b"em" => Kind::new("em", Role::Inline),
        b"code" | b"kbd" | b"samp" | b"tt" => Kind::new("code", Role::Inline),
        b"img" => Kind::new("img", Role::Image),
        b"br" => Kind::new("br", Role::Break),
        b"hr" => Kind::new("hr", Role::Rule),
        _ => TRANSPARENT,
    }
}
