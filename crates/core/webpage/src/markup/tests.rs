//! Compares [`crate::markup`] with its oracle on generated tag soup, without foreign content, which
//! the oracle handles differently.

mod oracle;

use proptest::{collection::vec, prelude::*};

use self::oracle::visible_parts;
use super::{Markup, NoVisitor, TitleSpan};
use crate::{icons::names_icon, markup};

const PIECES: [&str; 76] = [
    "<title>",
    "</title>",
    "</title ",
    "<TITLE/>",
    "</tItLe\n>",
    "<link rel=icon href=a>",
    "<link rel='shortcut icon' href='b>'>",
    "<LINK REL=\"icon\"HREF=c/>",
    "<link rel=icon/>",
    "<link =rel=icon rel =\n icon href = d>",
    "<link rel rel=icon>",
    "<base href=e>",
    "<base>",
    "<meta charset=gbk>",
    "<meta http-equiv=content-type content='a;charset=koi8-r'>",
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<!--->",
    "<!---->",
    "<!---!>",
    "-",
    "--",
    "<!doctype html>",
    "<!x>",
    "<?x>",
    "</ x>",
    "</>",
    "<script>",
    "</script>",
    "<script",
    "</script",
    "<style>",
    "</style>",
    "<textarea>",
    "</textarea>",
    "<noscript>",
    "</noscript>",
    "<xmp>",
    "</xmp>",
    "<iframe>",
    "</iframe>",
    "<noembed>",
    "</noembed>",
    "<noframes>",
    "</noframes>",
    "<plaintext>",
    "<a b=",
    "<a b='",
    "<a b=\"",
    "<a \"'",
    "<a =\"",
    "<a ==\"",
    "<script><!--><script>",
    "<a/=/=\"",
    "<p>",
    "</p>",
    "<div class=\"x\" id=y>",
    "</div>",
    "<br/>",
    "<titlex>",
    "</titlex>",
    "'",
    "\"",
    ">",
    "/>",
    "<",
    "</",
    "/",
    "=",
    " ",
    "\n",
    "x",
    "&amp;",
    "\0",
];

fn compare(html: &[u8]) -> Result<(), TestCaseError> {
    if oracle::misreads(html) {
        return Ok(());
    }
    let ours = markup::read(html, names_icon, true, &mut NoVisitor);
    let theirs = oracle::read(html, names_icon, true);
    let text = String::from_utf8_lossy(html);
    prop_assert_eq!(visible_parts(html, &ours), visible_parts(html, &theirs), "{}", text);
    prop_assert_eq!(ours.meta_encoding, theirs.meta_encoding, "{}", text);
    let closed = |markup: &Markup| matches!(markup.title, TitleSpan::Text { closed: true, .. });
    prop_assert_eq!(closed(&ours), closed(&theirs), "{}", text);
    Ok(())
}

#[test]
fn only_its_own_end_tag_ends_the_text_after_an_attribute_without_its_value() {
    for html in ["<script/<a b=></iframe><title>x</title>", "<style b= ></p><title>x</title>"] {
        let markup = markup::read(html.as_bytes(), names_icon, true, &mut NoVisitor);
        assert!(matches!(markup.title, TitleSpan::Absent), "{html}: {:?}", markup.title);
        let closed = html.replace("<title>", "</script></style><title>");
        let markup = markup::read(closed.as_bytes(), names_icon, true, &mut NoVisitor);
        let is_found = matches!(markup.title, TitleSpan::Text { closed: true, .. });
        assert!(is_found, "{closed}: {:?}", markup.title);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn tag_soup_is_read_as_by_a_general_rewriter(
        pieces in vec(proptest::sample::select(PIECES.to_vec()), 0..25),
    ) {
        compare(pieces.concat().as_bytes())?;
    }
}
