//! Handles pictures that an SVG embeds as `data:` URLs: PNG, JPEG, GIF, WebP and SVG.
//!
//! resvg receives a scaled raster picture as a PNG inside an SVG that has the picture's original
//! dimensions, so that the picture's position does not change. Corrupt pictures and other formats
//! are skipped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use resvg::usvg::{ImageHrefResolver, ImageKind, Options, Tree};

use super::{
    gif, jpeg, png, svg_font,
    svg_work::{SvgWork, refused},
    webp,
};
use crate::{
    error::IconError,
    format::Format,
    limits::TAB_ICON_PIXELS,
    measure::{check_sides, measure},
    pixels::Pixels,
    scale::scale_down,
    sniff::svg_root::SVG_NAMESPACE,
    work::Work,
};

/// Maximum embedded pictures. Each copy by `use` counts, and an SVG beyond this limit is rejected.
const MAX_EMBEDDED: u32 = 64;
const PIXEL_WORK: f64 = 30.0;
/// Work per pixel that the JPEG decoder visits. It is twice [`PIXEL_WORK`], because the decoder may
/// have to estimate coefficients.
const JPEG_PIXEL_WORK: f64 = 60.0;
const PICTURE_WORK: f64 = 200_000.0;

#[derive(Default)]
pub(crate) struct Budget {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    work: SvgWork,
    embedded: u32,
    refusal: Option<IconError>,
}

impl Budget {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn with<T>(&self, spend: impl FnOnce(&mut SvgWork) -> T) -> T {
        spend(&mut self.lock().work)
    }

    pub(crate) fn check(&self) -> Result<(), IconError> {
        self.lock().refusal.clone().map_or(Ok(()), Err)
    }

    fn keep<T>(&self, result: Result<Option<T>, IconError>) -> Option<T> {
        result.unwrap_or_else(|error| {
            self.lock().refusal.get_or_insert(error);
            None
        })
    }
}

pub(crate) type ReadNested = fn(&[u8], &Budget) -> Result<Tree, IconError>;

/// Returns usvg's options, which allow one font, and pictures only from `data:` URLs. If `nested`
/// is `None`, embedding an SVG is an error.
pub(crate) fn options(budget: &Budget, nested: Option<ReadNested>) -> Options<'_> {
    Options {
        image_href_resolver: ImageHrefResolver {
            resolve_data: Box::new(move |mime, data, _| {
                budget.keep(embedded(mime, &data, budget, nested))
            }),
            resolve_string: Box::new(|_, _| None),
        },
        ..svg_font::options()
    }
}

fn embedded(
    mime: &str,
    data: &[u8],
    budget: &Budget,
    nested: Option<ReadNested>,
) -> Result<Option<ImageKind>, IconError> {
    {
        let mut state = budget.lock();
        if state.refusal.is_some() {
            return Ok(None);
        }
        state.embedded += 1;
        if state.embedded > MAX_EMBEDDED {
            return Err(refused("too many embedded pictures"));
        }
    }
    let Ok(measured) = measure(data) else { return Ok(None) };
    let sides = (measured.width, measured.height);
    let area = f64::from(measured.width) * f64::from(measured.height);
    let pixels_work = match measured.format {
        Format::Svg if mime != "image/svg+xml" => return Ok(None),
        Format::Svg => {
            let read = nested.ok_or_else(|| refused("an SVG in an SVG in an SVG"))?;
            return match read(data, budget) {
                Ok(tree) => Ok(Some(ImageKind::SVG(tree))),
                Err(error @ IconError::SvgRefused { .. }) => Err(error),
                Err(_) => Ok(None),
            };
        }
        Format::Png | Format::Gif | Format::Webp => area * PIXEL_WORK,
        Format::Jpeg => jpeg::visited_pixels(data, sides) as f64 * JPEG_PIXEL_WORK,
        Format::Ico | Format::Cur | Format::Bmp | Format::Avif => return Ok(None),
    };
    if check_sides(&measured).is_err() {
        return Err(refused("an embedded picture too large"));
    }
    budget.with(|work| work.spend(PICTURE_WORK + pixels_work))?;
    let counted = &mut Work::default();
    let decoded = match measured.format {
        Format::Png => png::decode(data, counted),
        Format::Jpeg => jpeg::decode(data, counted),
        Format::Gif => gif::decode(data, counted),
        _ => webp::decode(data, counted),
    };
    let Ok(decoded) = decoded else { return Ok(None) };
    let (width, height) = (decoded.width(), decoded.height());
    let scaled = scale_down(decoded, TAB_ICON_PIXELS);
    Ok(written(&scaled).and_then(|png| framed(width, height, png)).map(ImageKind::SVG))
}

/// The PNG is not compressed, because it is read again immediately.
fn written(pixels: &Pixels) -> Option<Vec<u8>> {
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, pixels.width(), pixels.height());
    encoder.set_color(::png::ColorType::Rgba);
    encoder.set_compression(::png::Compression::NoCompression);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(pixels.rgba()).ok()?;
    writer.finish().ok()?;
    Some(file)
}

fn framed(width: u32, height: u32, png: Vec<u8>) -> Option<Tree> {
    let size = format!(r#"width="{width}" height="{height}""#);
    let image = format!(r#"<image {size} preserveAspectRatio="none" href="data:,"/>"#);
    let text = format!(r#"<svg xmlns="{SVG_NAMESPACE}" {size}>{image}</svg>"#);
    let png = Arc::new(png);
    let options = Options {
        image_href_resolver: ImageHrefResolver {
            resolve_data: Box::new(move |_, _, _| Some(ImageKind::PNG(Arc::clone(&png)))),
            resolve_string: Box::new(|_, _| None),
        },
        ..Options::default()
    };
    Tree::from_str(&text, &options).ok()
}
