//! Decides by their content whether bytes are an image. `Content-Type` does not matter.

use everytab_icon::{
    Format, IconError,
    measure::{check_sides, measure},
};
use everytab_webpage::{
    candidates::MAX_DATA_URL_BYTES,
    data_url::{self, DataUrlError},
};

use crate::outcome::Outcome;

/// The facts in an image's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    /// The media type according to the content.
    pub content_type: &'static str,
    /// Width in pixels, for an ICO of the entry that fits 32 pixels best. 0 if the header does not
    /// contain it.
    pub width: u32,
    /// Height in pixels of the same entry. 0 if the header does not contain it.
    pub height: u32,
}

/// Decides whether bytes are an image, and reads its facts.
pub fn judge(bytes: &[u8]) -> (Outcome, Option<ImageFacts>) {
    let measured = measure(bytes).and_then(|measured| {
        check_sides(&measured)?;
        Ok(measured)
    });
    match measured {
        Ok(measured) => {
            let (width, height) = (measured.width, measured.height);
            let content_type = measured.content_type;
            (Outcome::Ok, Some(ImageFacts { content_type, width, height }))
        }
        Err(error) => of_error(&error),
    }
}

fn of_error(error: &IconError) -> (Outcome, Option<ImageFacts>) {
    let outcome = match error {
        IconError::Empty => Outcome::EmptyBody,
        IconError::Html => Outcome::NotImageHtml,
        IconError::NotAnImage => Outcome::NotImageOther,
        IconError::TooLarge { .. } => Outcome::ImageTooBig,
        IconError::SvgRefused { .. } => Outcome::SvgRejected,
        // An unsupported AVIF is archived but not displayed.
        IconError::AvifUnsupported => {
            let content_type = Format::Avif.content_type();
            return (Outcome::Ok, Some(ImageFacts { content_type, width: 0, height: 0 }));
        }
        IconError::Corrupt { .. }
        | IconError::TooSmall { .. }
        | IconError::Blank
        | IconError::DecoderPanicked { .. } => Outcome::ImageCorrupt,
    };
    (outcome, None)
}

/// Decodes a `data:` icon.
///
/// # Errors
/// Returns an outcome if the URL is too long, has invalid base64, or is malformed.
pub fn data_bytes(url: &str) -> Result<Vec<u8>, Outcome> {
    match data_url::decode(url, MAX_DATA_URL_BYTES) {
        Ok(data) => Ok(data.bytes),
        Err(DataUrlError::TooLarge { .. }) => Err(Outcome::BodyTooLarge),
        Err(DataUrlError::Base64) => Err(Outcome::ContentDecode),
        Err(DataUrlError::NotData | DataUrlError::NoComma) => Err(Outcome::NotImageOther),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_an_image_have_an_outcome() {
        assert_eq!(judge(b"").0, Outcome::EmptyBody);
        assert_eq!(judge(b"<!doctype html><title>Not found</title>").0, Outcome::NotImageHtml);
        assert_eq!(judge(b"not found").0, Outcome::NotImageOther);
        assert_eq!(judge(b"\x89PNG\r\n\x1a\ncut").0, Outcome::ImageCorrupt);
        let svg = br#"<svg xmlns="http://www.w3.org/2000/svg" width="16" height="24"/>"#;
        let facts = ImageFacts { content_type: "image/svg+xml", width: 16, height: 24 };
        assert_eq!(judge(svg), (Outcome::Ok, Some(facts)));
    }

    #[test]
    fn a_data_icon_is_decoded_or_has_an_outcome() {
        assert_eq!(data_bytes("data:image/png;base64,aWNvbg==").as_deref(), Ok(&b"icon"[..]));
        assert_eq!(data_bytes("data:image/png;base64,a"), Err(Outcome::ContentDecode));
        assert_eq!(data_bytes("data:image/png"), Err(Outcome::NotImageOther));
        let long = format!("data:,{}", "x".repeat(MAX_DATA_URL_BYTES + 1));
        assert_eq!(data_bytes(&long), Err(Outcome::BodyTooLarge));
    }
}
