//! The bundle: the JSON file of tabs that the page fetches. Its schema is `bundle.schema.json`.
//!
//! Invariants: fields in fixed order, no space, so the same tabs give the same bytes; no `<`,
//! U+2028 or U+2029 stands in it unescaped, so it may be put into a script; `icon` is "" and
//! `icon_w`, `icon_h` are absent where there is none.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use everytab_icon::convert::TabIcon;
use serde::Serialize;

/// One host on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tab {
    /// Address of the home page.
    pub url: String,
    /// Title, as [`crate::title::tab_title`] gives it.
    pub title: String,
    /// Its icon.
    pub icon: Option<TabIcon>,
    /// Whether the page may be shown in a frame of ours.
    pub iframe_ok: bool,
}

#[derive(Serialize)]
struct Bundle<'a> {
    entries: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    url: &'a str,
    title: &'a str,
    icon: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_w: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_h: Option<u32>,
    iframe_ok: bool,
}

/// The JSON of a bundle.
#[must_use]
pub fn write(tabs: &[Tab]) -> Vec<u8> {
    let entry = |tab: &'_ Tab| -> (String, Option<(u32, u32)>) {
        let Some(icon) = &tab.icon else { return (String::new(), None) };
        (STANDARD.encode(&icon.png), Some((icon.width, icon.height)))
    };
    let entries = tabs.iter().map(|tab| {
        let (icon, sides) = entry(tab);
        Entry {
            url: &tab.url,
            title: &tab.title,
            icon,
            icon_w: sides.map(|(width, _)| width),
            icon_h: sides.map(|(_, height)| height),
            iframe_ok: tab.iframe_ok,
        }
    });
    let bundle = Bundle { entries: entries.collect() };
    // Strings, numbers and flags: no map key or foreign Serialize that could fail.
    let json = serde_json::to_string(&bundle).unwrap_or_default();
    // These three only ever stand inside strings.
    let json = json.replace('<', "\\u003c");
    json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029").into_bytes()
}

#[cfg(test)]
mod tests {
    use everytab_icon::{Format, Measured};

    use super::*;

    fn tab(title: &str, icon: Option<TabIcon>) -> Tab {
        Tab { url: "https://a.example".to_owned(), title: title.to_owned(), icon, iframe_ok: true }
    }

    #[test]
    fn the_bytes_are_exactly_those_of_the_design() {
        let source =
            Measured { format: Format::Png, content_type: "image/png", width: 64, height: 32 };
        let icon = TabIcon { png: vec![0xFB, 0xFF], width: 32, height: 16, source, blank: false };
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
