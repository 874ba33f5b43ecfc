//! Defines how each HTML element affects text.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Starts and ends lines.
    Block,
    /// Starts and ends lines, but does not end an open paragraph.
    Row,
    Cell,
    Preformatted,
    Break,
    Void,
    /// Hides its content, or shows it only as a fallback.
    Hidden,
    /// Shows its content only if it has the attribute `open`.
    HiddenUnlessOpen,
    /// A button, which separates its words from those around it.
    Apart,
    Inline,
}

/// Elements that end an open element of the same kind in a list or table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sibling {
    None,
    Paragraph,
    ListItem,
    Term,
    Option,
    Cell,
    Row,
    RowGroup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: u32,
    pub(crate) flow: Flow,
    pub(super) sibling: Sibling,
    /// True for lists and tables. A start tag inside such an element does not end an item, row or
    /// cell outside it.
    pub(super) is_list: bool,
    /// True if end tags inside this element do not end elements outside it, except end tags for
    /// table parts.
    pub(super) is_scope: bool,
    /// True for tables, their parts, `body` and `html`, whose end tags also end the elements inside
    /// a cell.
    pub(super) is_table_part: bool,
    /// True for `html` and `body`. We ignore attributes that hide these, because a script shows
    /// such pages.
    pub(crate) is_root: bool,
}

/// Length of the longest name in these lists (`blockquote`, `figcaption`).
const MAX_NAME_LENGTH: usize = 10;

impl Element {
    pub(crate) fn of_name(name: &[u8]) -> Self {
        let mut buffer = [0; MAX_NAME_LENGTH];
        let lower = match buffer.get_mut(..name.len()) {
            Some(lower) => {
                lower.copy_from_slice(name);
                lower.make_ascii_lowercase();
                &*lower
            }
            None => &[],
        };
        let (flow, sibling) = flow_of(lower);
        let table = matches!(lower, b"table");
        let part = matches!(sibling, Sibling::Cell | Sibling::Row | Sibling::RowGroup)
            || matches!(lower, b"caption");
        Self {
            name: hash(name),
            flow,
            sibling,
            is_list: table || matches!(lower, b"ul" | b"ol" | b"dl" | b"menu" | b"dir"),
            is_scope: table || sibling == Sibling::Cell || matches!(lower, b"caption" | b"button"),
            is_table_part: table || part || matches!(lower, b"body" | b"html"),
            is_root: matches!(lower, b"body" | b"html"),
        }
    }

    pub(super) fn ends_paragraph(&self) -> bool {
        matches!(self.flow, Flow::Block | Flow::Preformatted)
    }
}

/// Hashes by FNV-1a. Two names with the same hash could only end each other.
fn hash(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    })
}

fn flow_of(name: &[u8]) -> (Flow, Sibling) {
    let flow = match name {
        b"p" => return (Flow::Block, Sibling::Paragraph),
        b"li" => return (Flow::Block, Sibling::ListItem),
        b"dt" | b"dd" => return (Flow::Block, Sibling::Term),
        b"option" | b"optgroup" => return (Flow::Row, Sibling::Option),
        b"td" | b"th" => return (Flow::Cell, Sibling::Cell),
        b"tr" => return (Flow::Row, Sibling::Row),
        b"tbody" | b"thead" | b"tfoot" => return (Flow::Row, Sibling::RowGroup),
        b"html" | b"body" | b"caption" => Flow::Row,
        b"address" | b"article" | b"aside" | b"blockquote" | b"center" | b"details" | b"dir"
        | b"div" | b"dl" | b"fieldset" | b"figcaption" | b"figure" | b"footer" | b"form"
        | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"header" | b"hgroup" | b"legend"
        | b"main" | b"menu" | b"nav" | b"ol" | b"search" | b"section" | b"summary" | b"table"
        | b"ul" => Flow::Block,
        b"pre" | b"listing" | b"xmp" | b"plaintext" => Flow::Preformatted,
        b"br" | b"hr" => Flow::Break,
        b"area" | b"base" | b"basefont" | b"bgsound" | b"col" | b"embed" | b"frame" | b"img"
        | b"input" | b"keygen" | b"link" | b"meta" | b"param" | b"source" | b"track" | b"wbr" => {
            Flow::Void
        }
        b"audio" | b"canvas" | b"datalist" | b"iframe" | b"noembed" | b"noframes" | b"noscript"
        | b"object" | b"rp" | b"script" | b"select" | b"style" | b"template" | b"textarea"
        | b"title" | b"video" => Flow::Hidden,
        b"dialog" => Flow::HiddenUnlessOpen,
        b"button" => Flow::Apart,
        _ => Flow::Inline,
    };
    (flow, Sibling::None)
}
