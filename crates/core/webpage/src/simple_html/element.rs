//! The elements in simple HTML, and how a page's elements map to them.

use crate::text::{Element, Flow};

/// An element's role in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A block that may contain blocks.
    Block,
    /// A block that the next block ends.
    Paragraph,
    /// A heading. It contains no blocks.
    Heading,
    /// A quote.
    Quote,
    /// A list.
    List,
    /// A list item.
    Item,
    /// A preformatted block.
    Preformatted,
    /// A `table` tag on the page. The table is written when its first row starts, so that a caption
    /// precedes it.
    TableFrame,
    /// The written table.
    Table,
    /// `thead`, `tbody` and `tfoot`. They are not written, but end a row.
    RowGroup,
    /// A table row.
    Row,
    /// A table cell.
    Cell,
    /// An inline element, such as `strong`.
    Inline,
    /// A link.
    Link,
    /// A picture. It has no content.
    Image,
    /// A line break. It has no content.
    Break,
    /// A thematic break. It has no content.
    Rule,
    /// A button. Its tag is not written, but spaces separate its words from the text around it.
    Apart,
    /// Neither the tag nor the content is written.
    Hidden,
    /// The tag is not written, but the content is.
    Transparent,
}

impl Role {
    /// Returns whether the element starts on a new line.
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

    /// Returns whether the element's content is indented.
    pub(super) fn is_indented(self) -> bool {
        matches!(self, Self::List | Self::Quote)
    }
}

/// The simple HTML for an element on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    /// The name that is written, empty if the element is not written.
    pub(super) name: &'static str,
    pub(super) role: Role,
    /// An attribute that replaces the element's own name, so that programs that search for the main
    /// content recognize navigation and similar parts.
    pub(super) hint: &'static str,
}

impl Kind {
    pub(super) const fn new(name: &'static str, role: Role) -> Self {
        Self { name, role, hint: "" }
    }

    /// Returns the kind for an element on a page.
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

/// The kind for elements whose tag is dropped and whose content is written.
pub(super) const TRANSPARENT: Kind = Kind::new("", Role::Transparent);

/// Maximum name length in the list (`blockquote`, `figcaption`).
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
