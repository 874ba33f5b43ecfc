//! Icons drawn by code. The host determines the motif; the path determines the format, size and
//! pixel format.

mod canvas;
mod encode;
mod ico;
mod motif;

use motif::Motif;

use crate::dice::Dice;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Drawn {
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum DrawnFormat {
    Png,
    Ico,
    Gif,
    Jpeg,
    Bmp,
    Webp,
    Svg,
}

impl DrawnFormat {
    fn content_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Ico => "image/x-icon",
            Self::Gif => "image/gif",
            Self::Jpeg => "image/jpeg",
            Self::Bmp => "image/bmp",
            Self::Webp => "image/webp",
            Self::Svg => "image/svg+xml",
        }
    }
}

pub(crate) fn icon(seed: u64, host: &str, path: &str) -> Option<Drawn> {
    let format = format_of(path)?;
    let mut dice = Dice::new(seed, &["icon", host, path]);
    // Some real servers send a format that differs from the file name's.
    let format = match format {
        DrawnFormat::Ico if dice.permille(120) => DrawnFormat::Png,
        DrawnFormat::Png if dice.permille(15) => DrawnFormat::Jpeg,
        DrawnFormat::Jpeg if dice.permille(50) => DrawnFormat::Png,
        other => other,
    };
    let size = size_of(path).unwrap_or_else(|| {
        let sizes = [(16, 18), (32, 34), (48, 12), (64, 10), (96, 4), (128, 8), (192, 8), (512, 2)];
        dice.weighted(&sizes)
    });
    let motif = Motif::of_host(seed, host);
    let body = match format {
        DrawnFormat::Svg => motif.svg(size),
        DrawnFormat::Ico => ico::encode(&motif, &mut dice),
        DrawnFormat::Png => encode::png(&motif, size, &mut dice)?,
        DrawnFormat::Gif => encode::by_library(&motif, size, image::ImageFormat::Gif)?,
        DrawnFormat::Jpeg => encode::by_library(&motif, size, image::ImageFormat::Jpeg)?,
        DrawnFormat::Bmp => encode::by_library(&motif, size, image::ImageFormat::Bmp)?,
        DrawnFormat::Webp => encode::by_library(&motif, size, image::ImageFormat::WebP)?,
    };
    Some(Drawn { content_type: format.content_type(), body })
}

/// Returns the bytes of a host's icon at a path. `None` if the path does not look like an icon's.
#[must_use]
pub fn drawn_icon(seed: u64, host: &str, path: &str) -> Option<Vec<u8>> {
    Some(icon(seed, host, path)?.body)
}

pub(crate) fn broken(seed: u64, host: &str, path: &str) -> Drawn {
    let mut dice = Dice::new(seed, &["broken icon", host, path]);
    let format = format_of(path).unwrap_or(DrawnFormat::Png);
    let start: &[u8] = match format {
        DrawnFormat::Png => b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x20\x08\x06\0\0\0",
        DrawnFormat::Ico => {
            b"\0\0\x01\0\x01\0\x20\x20\0\0\x01\0\x20\0\xff\xff\xff\x7f\xff\xff\xff\x7f"
        }
        DrawnFormat::Gif => b"GIF89a\x20\0\x20\0\xf7\0\0",
        DrawnFormat::Jpeg => b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0",
        DrawnFormat::Bmp => b"BM\0\x10\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0",
        DrawnFormat::Webp => b"RIFF\0\x10\0\0WEBPVP8L",
        DrawnFormat::Svg => {
            b"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\"><path d=\""
        }
    };
    let mut body = start.to_vec();
    for _ in 0..dice.between(0, 400) {
        // Control characters cannot close an element, so an SVG remains broken.
        body.push((dice.next() as u8) & 0x1f);
    }
    Drawn { content_type: format.content_type(), body }
}

fn format_of(path: &str) -> Option<DrawnFormat> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    Some(match extension {
        Some("png") => DrawnFormat::Png,
        Some("ico" | "cur") => DrawnFormat::Ico,
        Some("gif") => DrawnFormat::Gif,
        Some("jpg" | "jpeg") => DrawnFormat::Jpeg,
        Some("bmp") => DrawnFormat::Bmp,
        Some("webp") => DrawnFormat::Webp,
        Some("svg") => DrawnFormat::Svg,
        None if name.contains("icon") || name.contains("logo") => DrawnFormat::Png,
        _ => return None,
    })
}

/// Returns the size in a file name, which is the last number from 16 to 512 with two or three
/// digits.
fn size_of(path: &str) -> Option<u32> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let numbers = name.split(|letter: char| !letter.is_ascii_digit());
    let mut sized = None;
    for digits in numbers.filter(|digits| (2..=3).contains(&digits.len())) {
        sized = digits.parse().ok().filter(|size| (16..=512).contains(size)).or(sized);
    }
    sized.or_else(|| name.starts_with("apple-touch-icon").then_some(180))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_decodes_at_the_size_in_its_name() {
        for number in 0..40 {
            let host = format!("h{number}.example");
            for (extension, format) in [
                ("png", image::ImageFormat::Png),
                ("gif", image::ImageFormat::Gif),
                ("bmp", image::ImageFormat::Bmp),
                ("webp", image::ImageFormat::WebP),
            ] {
                let path = format!("/img/icon-48x48.{extension}");
                let drawn = icon(1, &host, &path).unwrap();
                let format = match drawn.content_type {
                    "image/jpeg" => image::ImageFormat::Jpeg,
                    _ => format,
                };
                let decoded = image::load_from_memory_with_format(&drawn.body, format).unwrap();
                assert_eq!((decoded.width(), decoded.height()), (48, 48), "{host}{path}");
            }
        }
    }

    #[test]
    fn the_same_url_has_the_same_bytes_and_hosts_differ() {
        for path in ["/favicon.ico", "/a.svg", "/b-32x32.png"] {
            assert_eq!(icon(5, "a.example", path), icon(5, "a.example", path));
            assert_ne!(icon(5, "a.example", path), icon(5, "b.example", path));
            assert_ne!(icon(5, "a.example", path), icon(6, "a.example", path));
        }
        assert_eq!(icon(5, "a.example", "/index.html"), None);
    }

    #[test]
    fn broken_icons_do_not_decode() {
        for number in 0..50 {
            for extension in ["png", "gif", "jpg", "bmp", "webp"] {
                let path = format!("/{number}.{extension}");
                let drawn = broken(1, "a.example", &path);
                assert!(image::load_from_memory(&drawn.body).is_err(), "{path}");
            }
        }
    }

    #[test]
    fn sizes_are_read_from_file_names() {
        assert_eq!(size_of("/img/favicon-96x96.png"), Some(96));
        assert_eq!(size_of("/apple-touch-icon.png"), Some(180));
        assert_eq!(size_of("/apple-touch-icon-120x120.png"), Some(120));
        assert_eq!(size_of("/2026/01/logo.png"), None);
    }
}
