//! Link pages: for each bundle a small HTML file, `t/<bundle>.html`, that messengers and search
//! engines read when somebody shares a tab.
//!
//! [`LinkPage::read`] returns the fields of a page, so that a takedown can rewrite the page without
//! a database.

use crate::{map::MapManifest, object_names::link_page, page_files::escape};

/// Maximum number of hostnames in a page, which then has about 2 KB.
pub const LISTED_NAMES: usize = 6;
/// Maximum number of hostnames in a title.
const NAMES_IN_A_TITLE: usize = 3;
/// Maximum total characters of a title's hostnames, unless the first one alone is longer.
/// Messengers cut titles after 60 to 70 characters, and the number of further sites takes about 18.
const TITLE_NAMES_CHARACTERS: usize = 48;
const PLAIN_TITLE: &str = "EveryTab: every website, a tab";

/// A link page's fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkPage {
    /// The bundle's number.
    pub bundle: i32,
    /// Number of tabs in the bundle.
    pub tabs: u32,
    /// Number of tabs in the bundles before this one when the scan was published. `None` if it is
    /// unknown.
    pub first: Option<u64>,
    /// Hostnames of the bundle's tabs, best-known first.
    pub names: Vec<String>,
    /// Prefix of the scan that has the bundle. Empty if the site's scan has no such bundle.
    pub prefix: String,
    /// The site's URL, with a trailing slash. If it is `None`, the picture's URL is relative.
    pub site_url: Option<String>,
    /// The name of `link.js`. If it is empty, browsers stay on the link page.
    pub script: String,
    /// `None` if the scan has no map.
    pub picture: Option<LinkPicture>,
}

/// The preview picture of a link page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPicture {
    /// The picture's name below the site's root.
    pub key: String,
    /// Width and height in pixels.
    pub side: u32,
}

impl LinkPicture {
    /// Returns the most detailed tile that shows a bundle. Its name has no content hash, because
    /// takedowns also rewrite the tile under this name. `None` if this program does not make such
    /// maps.
    #[must_use]
    pub fn of_bundle(map: &MapManifest, prefix: &str, bundle: i32) -> Option<Self> {
        let tile = map.layout()?.tile_of(bundle.unsigned_abs(), 0);
        Some(Self { key: format!("{prefix}{}", tile.path()), side: map.tile })
    }
}

impl LinkPage {
    /// Writes the page.
    #[must_use]
    pub fn write(&self) -> String {
        let Self { tabs, prefix, script, .. } = self;
        let first = escape(self.names.first().map_or("", String::as_str));
        let title = escape(&self.title());
        let description = escape(&self.description());
        let end = if self.names.is_empty() { "" } else { " · EveryTab" };
        let address = self.address_tags();
        let picture = self.picture_tags();
        let (prefix, script) = (escape(prefix), escape(script));
        let script = if script.is_empty() {
            script
        } else {
            format!("<script src=\"../{script}\"></script>\n")
        };
        let names: String =
            self.names.iter().map(|name| format!("<li>{}</li>\n", escape(name))).collect();
        let list = if names.is_empty() { names } else { format!("<ul>\n{names}</ul>\n") };
        let fragment = if first.is_empty() { first.clone() } else { format!("#site={first}") };
        let before = self.first.map(|tabs| format!(" data-first=\"{tabs}\"")).unwrap_or_default();
        format!(
            r#"<!DOCTYPE html>
<html lang="en" data-scan="{prefix}" data-tabs="{tabs}"{before} data-site="{first}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{title}{end}</title>
<meta name="description" content="{description}">
{address}<meta property="og:type" content="website">
<meta property="og:site_name" content="EveryTab">
<meta property="og:title" content="{title}">
<meta property="og:description" content="{description}">
{picture}<link rel="icon" href="../favicon.ico">
{script}</head>
<body>
<h1>{title}</h1>
{list}<p><a href="../{fragment}">Open these tabs on EveryTab</a></p>
</body>
</html>
"#
        )
    }

    /// Reads a page that [`Self::write`] wrote for this bundle. `None` for a page without a script.
    #[must_use]
    pub fn read(bundle: i32, bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let field = |start: &str| between(text, start, "\"").map(unescape);
        let names = text.split("<li>").skip(1).filter_map(|rest| rest.split("</li>").next());
        let address = field(r#"<link rel="canonical" href=""#);
        let site_url =
            address.and_then(|address| address.strip_suffix(&link_page(bundle)).map(str::to_owned));
        let base = site_url.as_deref().unwrap_or("../");
        let side = || field(r#"<meta property="og:image:width" content=""#)?.parse().ok();
        let picture = field(r#"<meta property="og:image" content=""#).and_then(|url| {
            Some(LinkPicture { key: url.strip_prefix(base)?.to_owned(), side: side()? })
        });
        Some(Self {
            bundle,
            tabs: field(r#"data-tabs=""#)?.parse().ok()?,
            first: field(r#"data-first=""#).and_then(|tabs| tabs.parse().ok()),
            names: names.map(unescape).collect(),
            prefix: field(r#"data-scan=""#)?,
            script: field(r#"<script src="../"#)?,
            picture,
            site_url,
        })
    }

    /// Returns the title: up to three names, and the number of further sites.
    #[must_use]
    pub fn title(&self) -> String {
        let mut shown: Vec<&str> = Vec::new();
        let mut characters = 0;
        for name in self.names.iter().take(NAMES_IN_A_TITLE) {
            characters += name.chars().count();
            if !shown.is_empty() && characters > TITLE_NAMES_CHARACTERS {
                break;
            }
            shown.push(name);
        }
        let more = match (self.tabs as usize).saturating_sub(shown.len()) {
            0 => shown.pop().unwrap_or(PLAIN_TITLE).to_owned(),
            1 => "1 more site".to_owned(),
            more => format!("{more} more sites"),
        };
        if !shown.is_empty() {
            format!("{} and {more}", shown.join(", "))
        } else if self.names.is_empty() {
            PLAIN_TITLE.to_owned()
        } else {
            more
        }
    }

    fn description(&self) -> String {
        let about = "EveryTab, with a browser tab for every website. Find yours.";
        match self.tabs {
            0 => about.to_owned(),
            1 => format!("A tab on {about}"),
            tabs => format!("{tabs} neighbours on {about}"),
        }
    }

    fn address_tags(&self) -> String {
        let Some(site_url) = &self.site_url else { return String::new() };
        let address = escape(&format!("{site_url}{}", link_page(self.bundle)));
        format!(
            "<link rel=\"canonical\" href=\"{address}\">\n\
             <meta property=\"og:url\" content=\"{address}\">\n"
        )
    }

    fn picture_tags(&self) -> String {
        let Some(LinkPicture { key, side }) = &self.picture else {
            return "<meta name=\"twitter:card\" content=\"summary\">\n".to_owned();
        };
        let url = escape(&format!("{}{key}", self.site_url.as_deref().unwrap_or("../")));
        format!(
            r#"<meta property="og:image" content="{url}">
<meta property="og:image:type" content="image/jpeg">
<meta property="og:image:width" content="{side}">
<meta property="og:image:height" content="{side}">
<meta property="og:image:alt" content="{ALT}">
<meta name="twitter:card" content="summary_large_image">
"#
        )
    }
}

const POLICY: &str =
    "default-src 'none'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'";
const ALT: &str = "These sites' icons on the map";

/// Selects a bundle's best-known hostnames: those with the best ranks, then the shortest, then in
/// alphabetical order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BestKnown {
    tabs: u32,
    names: Vec<(u32, String)>,
}

impl BestKnown {
    /// Adds a tab's hostname.
    pub fn add(&mut self, hostname: &str, rank: Option<u32>) {
        self.tabs = self.tabs.saturating_add(1);
        let rank = rank.unwrap_or(u32::MAX);
        let key = (rank, hostname.len(), hostname);
        let at = self.names.partition_point(|(rank, name)| (*rank, name.len(), &**name) < key);
        if at < LISTED_NAMES {
            self.names.truncate(LISTED_NAMES - 1);
            self.names.insert(at, (rank, hostname.to_owned()));
        }
    }

    /// Returns how many tabs were added.
    #[must_use]
    pub fn tabs(&self) -> u32 {
        self.tabs
    }

    /// Returns the best-known hostnames, best-known first.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.names.iter().map(|(_, name)| name.clone()).collect()
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.split_once(start)?.1.split_once(end).map(|(value, _)| value)
}

fn unescape(text: &str) -> String {
    let text = text.replace("&quot;", "\"").replace("&gt;", ">").replace("&lt;", "<");
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests;
