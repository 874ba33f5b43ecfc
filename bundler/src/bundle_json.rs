//! A bundle's JSON (`bundle.schema.json`).
//!
//! Fields have a fixed order, so that equal tabs give equal bytes. `<`, U+2028 and U+2029 are
//! escaped, so that this JSON can be embedded in a script.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BundleJson<'a> {
    pub(crate) entries: Vec<BundleEntry<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BundleEntry<'a> {
    pub(crate) url: Cow<'a, str>,
    pub(crate) title: Cow<'a, str>,
    /// The PNG in base64, or "" if there is no icon.
    pub(crate) icon: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) icon_w: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) icon_h: Option<u32>,
    pub(crate) iframe_ok: bool,
}

impl BundleJson<'_> {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // Strings, numbers and flags can always be serialized.
        let json = serde_json::to_string(self).unwrap_or_default();
        // These three characters occur only inside strings.
        let json = json.replace('<', "\\u003c");
        json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029").into_bytes()
    }
}
