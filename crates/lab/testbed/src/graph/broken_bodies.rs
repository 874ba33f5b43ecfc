//! Pages whose bodies end early, or whose coding differs from their head, as on real servers:
//! `/broken/KIND/SIZE`. Each page has a title, and near its start a link to a page that no other
//! page links to.

use std::io::Write;

use bytes::Bytes;
use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};

use super::reply::{BodyEnd, GraphAnswer};
use crate::dice::Dice;

const BROKEN_BODY_DRAW: u64 = 61;

/// The first bytes in a body that uses Brotli with a shared dictionary.
const DICTIONARY_START: &[u8] = b"\xff\x44\x43\x42";

/// The part of a body that a client can decode.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BodyLeft {
    /// The whole page.
    Whole,
    /// The page up to the position where the compressed data breaks off.
    Start,
    /// Nothing can be decoded, so only the bytes on the wire remain.
    Coded,
}

macro_rules! broken_bodies {
    ($($(#[$doc:meta])* $variant:ident $name:literal $coding:literal $left:ident $end:ident;)+) => {
        /// A kind of body. Most kinds do not match their response heads. The names are stable.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum BrokenBody { $($(#[$doc])* $variant,)+ }

        impl BrokenBody {
            /// Every kind, in declaration order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant,)+];

            /// Returns this kind's stable name, which is a segment in its pages' URLs.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the value for `Content-Encoding`, which is empty if this field is not sent.
            #[must_use]
            pub fn coding(self) -> &'static str {
                match self { $(Self::$variant => $coding,)+ }
            }

            /// Returns how much of this kind's body a client can decode.
            #[must_use]
            pub fn left(self) -> BodyLeft {
                match self { $(Self::$variant => BodyLeft::$left,)+ }
            }

            fn end(self) -> BodyEnd {
                match self { $(Self::$variant => BodyEnd::$end,)+ }
            }
        }
    };
}

// The columns are the name, Content-Encoding, the decodable part, and how the body ends on the
// wire.
broken_bodies! {
    /// Correct gzip.
    Gzip "gzip" "gzip" Whole Whole;
    /// gzip without its trailer.
    NoTrailer "no-trailer" "gzip" Whole Whole;
    /// gzip with half its trailer.
    HalfTrailer "half-trailer" "gzip" Whole Whole;
    /// gzip with a wrong checksum.
    WrongSum "wrong-sum" "gzip" Whole Whole;
    /// gzip with a wrong length.
    WrongLength "wrong-length" "gzip" Whole Whole;
    /// gzip with two members.
    TwoMembers "two-members" "gzip" Whole Whole;
    /// gzip inside gzip.
    Twice "twice" "gzip, gzip" Whole Whole;
    /// The first half of a gzip file.
    HalfGzip "half-gzip" "gzip" Start Whole;
    /// `deflate` as in the standard.
    Zlib "zlib" "deflate" Whole Whole;
    /// `deflate` as in the standard, without its checksum.
    ZlibWithoutSum "zlib-without-sum" "deflate" Whole Whole;
    /// `deflate` without the zlib header.
    Deflate "deflate" "deflate" Whole Whole;
    /// The first half of `deflate` without the zlib header.
    HalfDeflate "half-deflate" "deflate" Start Whole;
    /// A Content-Length that is too large. The connection ends after the body.
    LengthTooLong "length-too-long" "" Whole LengthTooLong;
    /// Chunks without the final one. The connection ends after the body.
    Unended "unended" "" Whole Unended;
    /// gzip with a Content-Length that is too large.
    GzipTooShort "gzip-too-short" "gzip" Whole LengthTooLong;
    /// The first half of a gzip file, after which the connection ends.
    HalfUnended "half-unended" "gzip" Start Unended;
    /// A page that is not compressed, although its head declares gzip.
    NotGzip "not-gzip" "gzip" Coded Whole;
    /// A coding that needs a dictionary.
    Dictionary "dictionary" "dcb" Coded Whole;
    /// A gzip header, after which the connection ends.
    HeadOfGzip "head-of-gzip" "gzip" Coded Unended;
}

impl BrokenBody {
    /// Approximate page sizes in bytes.
    pub const SIZES: [usize; 3] = [3_000, 60_000, 300_000];

    /// Returns a page's target.
    #[must_use]
    pub fn target(self, size: usize) -> String {
        format!("/broken/{}/{size}", self.as_str())
    }

    /// Returns the target to which only this page links.
    #[must_use]
    pub fn target_behind(self, size: usize) -> String {
        format!("/broken/behind/{}/{size}", self.as_str())
    }

    /// Returns true if this kind's body is incomplete, either as a decoded page or on the wire.
    #[must_use]
    pub fn ends_early(self) -> bool {
        self.end() != BodyEnd::Whole || self.left() == BodyLeft::Start
    }

    /// Returns true if the connection ends before the body is complete.
    #[must_use]
    pub fn is_cut_off(self) -> bool {
        self.end() != BodyEnd::Whole
    }

    /// Returns the page.
    #[must_use]
    pub fn page(self, size: usize) -> Vec<u8> {
        let name = self.as_str();
        let mut dice = Dice::of_numbers([BROKEN_BODY_DRAW, size as u64]);
        // Use random letters, because other text could be compressed to a few bytes.
        let text: String = (0..size).map(|_| char::from(b'a' + dice.below(26) as u8)).collect();
        let behind = self.target_behind(size);
        format!(
            "<!DOCTYPE html>\n<html><head><title>{name} {size}</title></head>\n\
             <body><a href=\"{behind}\">more</a>\n<p>{text}</p>\nThe end.</body></html>\n"
        )
        .into_bytes()
    }

    /// Returns the body's bytes on the wire.
    #[must_use]
    pub fn wire(self, size: usize) -> Vec<u8> {
        let page = self.page(size);
        let (first, second) = page.split_at(page.len() / 3);
        let mut gzipped = gzip(&page);
        let trailer = gzipped.len() - 8;
        match self {
            Self::Gzip | Self::GzipTooShort => {}
            Self::NoTrailer => gzipped.truncate(trailer),
            Self::HalfTrailer => gzipped.truncate(trailer + 4),
            Self::WrongSum => gzipped[trailer] ^= 1,
            Self::WrongLength => gzipped[trailer + 4] ^= 1,
            Self::HalfGzip | Self::HalfUnended => gzipped.truncate(trailer / 2),
            Self::HeadOfGzip => gzipped.truncate(10),
            Self::TwoMembers => return [gzip(first), gzip(second)].concat(),
            Self::Twice => return gzip(&gzipped),
            Self::Zlib => return zlib(&page),
            Self::ZlibWithoutSum => {
                let mut packed = zlib(&page);
                packed.truncate(packed.len() - 4);
                return packed;
            }
            Self::Deflate => return deflate(&page),
            Self::HalfDeflate => {
                let mut packed = deflate(&page);
                packed.truncate(packed.len() / 2);
                return packed;
            }
            Self::Dictionary => return [DICTIONARY_START, &page].concat(),
            Self::LengthTooLong | Self::Unended | Self::NotGzip => return page,
        }
        gzipped
    }
}

pub(super) fn answer(rest: &str) -> Option<GraphAnswer> {
    let page = |title: &str, links: &[String]| {
        let links: String =
            links.iter().map(|link| format!("<li><a href=\"{link}\">more</a>\n")).collect();
        let html = format!("<!DOCTYPE html><title>{title}</title>\n<ul>{links}</ul>\n");
        GraphAnswer::new(200, "text/html; charset=utf-8", html)
    };
    if rest.is_empty() {
        let sizes = |body: BrokenBody| BrokenBody::SIZES.map(|size| body.target(size));
        return Some(page("Broken", &BrokenBody::ALL.map(sizes).concat()));
    }
    let (behind, rest) = match rest.strip_prefix("behind/") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let (name, size) = rest.split_once('/')?;
    let body = BrokenBody::ALL.into_iter().find(|body| body.as_str() == name)?;
    let size = BrokenBody::SIZES.into_iter().find(|known| known.to_string() == size)?;
    if behind {
        return Some(page(&format!("Behind {name} {size}"), &[]));
    }
    let wire = Bytes::from(body.wire(size));
    let mut answer = GraphAnswer::new(200, "text/html; charset=utf-8", wire);
    if !body.coding().is_empty() {
        answer = answer.with("content-encoding", body.coding());
    }
    Some(GraphAnswer { end: body.end(), ..answer })
}

// Writing to memory does not fail.

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).and_then(|()| packed.finish()).unwrap_or_default()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).and_then(|()| packed.finish()).unwrap_or_default()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).and_then(|()| packed.finish()).unwrap_or_default()
}
