//! Setting for whether a PNG keeps all colours or gets a palette.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How many colours a PNG keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colours {
    /// At most 64 colours if the change is invisible, otherwise all colours. A picture with more
    /// than 32,768 pixels always keeps all colours, but no tab icon is this large.
    #[default]
    Auto,
    /// At most 64 colours, even if the change is visible. A picture with more than 32,768 pixels
    /// keeps all colours.
    Palette,
    /// All colours. The PNG decodes to exactly the given pixels, except for the colours of pixels
    /// with alpha 0.
    Lossless,
}

impl Colours {
    /// All settings.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Palette, Self::Lossless];

    /// Returns this setting's name in options and configuration, such as `auto`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Palette => "palette",
            Self::Lossless => "lossless",
        }
    }
}

impl FromStr for Colours {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|colours| colours.name() == name);
        known.ok_or_else(|| format!("unknown colours {name:?}: expected auto, palette or lossless"))
    }
}
