//! The JSON of a bundle, `bundle.schema.json`: its fields and how they are written.
//!
//! Invariants: fields in fixed order and no space, so that the same tabs give the same bytes; no
//! `<`, U+2028 or U+2029 stands in the text unescaped, so that it may be put into a script; `icon`
//! is "" and `icon_w`, `icon_h` are absent where a tab has no icon.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A bundle as JSON has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BundleJson<'a> {
    pub(crate) entries: Vec<BundleEntry<'a>>,
}

/// One tab as JSON has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BundleEntry<'a> {
    pub(crate) url: Cow<'a, str>,
    pub(crate) title: Cow<'a, str>,
    /// A PNG in base64, or "".
    pub(crate) icon: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) icon_w: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) icon_h: Option<u32>,
    pub(crate) iframe_ok: bool,
}

impl BundleJson<'_> {
    /// The bytes of the bundle file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // Strings, numbers and flags always serialise.
        let json = serde_json::to_string(self).unwrap_or_default();
        // These three characters only ever stand inside strings.
        let json = json.replace('<', "\\u003c");
        json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029").into_bytes()
    }
}
