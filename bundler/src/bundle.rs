//! The bundle (`bundle.schema.json`): the JSON file with tabs that the page fetches.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::bundle_json::{BundleEntry, BundleJson};

/// A tab's icon in a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleIcon {
    /// The icon as a PNG file.
    pub png: Vec<u8>,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// One host's tab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tab {
    /// The home page's URL, without a trailing slash.
    pub url: String,
    /// The home page's title, truncated by `everytab_webpage::tab_title`.
    pub title: String,
    /// `None` if the host has no usable icon.
    pub icon: Option<BundleIcon>,
    /// True if the page may be shown in an iframe.
    pub iframe_ok: bool,
}

/// Writes a bundle file.
#[must_use]
pub fn write(tabs: &[Tab]) -> Vec<u8> {
    BundleJson { entries: tabs.iter().map(entry).collect() }.to_bytes()
}

fn entry(tab: &Tab) -> BundleEntry<'_> {
    let icon = tab.icon.as_ref();
    BundleEntry {
        url: tab.url.as_str().into(),
        title: tab.title.as_str().into(),
        icon: icon.map(|icon| STANDARD.encode(&icon.png)).unwrap_or_default().into(),
        icon_w: icon.map(|icon| icon.width),
        icon_h: icon.map(|icon| icon.height),
        iframe_ok: tab.iframe_ok,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tab(title: &str, icon: Option<BundleIcon>) -> Tab {
        Tab { url: "https://a.example".to_owned(), title: title.to_owned(), icon, iframe_ok: true }
    }

    #[test]
    fn the_bytes_are_exactly_those_of_the_design() {
        let icon = BundleIcon { png: vec![0xFB, 0xFF], width: 32, height: 16 };
        let json = write(&[tab("A", Some(icon)), tab("B", None)]);
        let expected = concat!(
            r#"{"entries":[{"url":"https://a.example","title":"A","icon":"+/8=","#,
            r#""icon_w":32,"icon_h":16,"iframe_ok":true},"#,
            r#"{"url":"https://a.example","title":"B","icon":"","iframe_ok":true}]}"#,
        );
        assert_eq!(String::from_utf8(json).unwrap(), expected);
        assert_eq!(write(&[]), br#"{"entries":[]}"#);
    }

    #[test]
    fn nothing_in_a_title_can_end_a_script() {
        let title = "</script><!-- \u{2028}\u{2029} \" \\ é";
        let json = write(&[tab(title, None)]);
        let text = std::str::from_utf8(&json).unwrap();
        assert!(!text.contains(['<', '\u{2028}', '\u{2029}']));
        let read: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(read["entries"][0]["title"], title);
    }
}
