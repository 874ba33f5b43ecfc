//! Counts the work for drawing an SVG, by walking over the resolved picture as resvg 0.49 does.
//! Every weight is an upper bound for measured nanoseconds (docs/decisions/0096).

use resvg::{
    tiny_skia::{self, PathSegment, PathStroker, Rect, Transform},
    usvg::{
        ClipPath, Fill, Group, Image, ImageKind, Mask, Node, Paint, Path, Stroke, Text, Tree,
        filter::{Filter, Kind},
    },
};

use super::{
    svg_edges::{Canvas, hairlines, length_bound, scan},
    svg_filters::primitive_work,
    svg_font,
    svg_strokes::Outlines,
    svg_work::{SvgWork, exceeds, refuse_approximate, refused},
};
use crate::error::IconError;

/// Maximum coordinate in pixels of a shape that overlaps the picture. tiny-skia's row bounds
/// overflow at 2^29. Tests with a quarter of 2^29, which is this limit, showed no errors.
const MAX_DISTANCE_PIXELS: f64 = 134_217_728.0;
/// Maximum coordinate in pixels of a separate layer's content. resvg draws nothing if the layer's
/// width or height exceeds 2^31 pixels.
const MAX_LAYER_DISTANCE: f64 = 900_000_000.0;
/// Maximum coordinate in pixels of a shape with cubic curves. At 1.5 million pixels, tiny-skia
/// panics when clipping one in 50,000 such curves. Beyond 2^22 pixels, it draws lines instead of
/// curves.
const MAX_CUBIC_PIXELS: f64 = 1_048_576.0;
const HAIR_MARGIN: f32 = 4.0;
/// Maximum pixels in a layer or a pattern tile. An SVG beyond this limit is rejected, because it
/// would use too much memory.
const MAX_LAYER_PIXELS: f64 = 262_144.0;
/// Maximum dashes per stroke. An SVG beyond this limit is rejected, because it would use too much
/// memory.
const MAX_DASHES: f64 = 20_000.0;

const PATH_WORK: f64 = 600.0;
const LAYER_WORK: f64 = 3_000.0;
const LAYER_PIXEL_WORK: f64 = 12.0;
const CLIP_PIXEL_WORK: f64 = 8.0;
const MASK_PIXEL_WORK: f64 = 20.0;
const EDGE_WORK: f64 = 60.0;
const ROW_EDGE_WORK: f64 = 12.0;
const INVERSION_WORK: f64 = 2.5;
const SEGMENT_WORK: f64 = 10.0;
/// Work per piece of a stroke's outline, which is created twice: in this module, and in usvg or
/// when drawing.
const OUTLINE_PIECE_WORK: f64 = 300.0;
const DASH_WORK: f64 = 500.0;
const HAIR_LINE_WORK: f64 = 100.0;
const HAIR_PIXEL_WORK: f64 = 70.0;
/// Work for drawing an embedded picture, which is already scaled to a tab icon's size.
const PICTURE_WORK: f64 = 60_000.0;
const PICTURE_PIXEL_WORK: f64 = 60.0;

/// Counts the work for drawing `tree` with `transform` on `canvas`.
///
/// # Errors
/// Returns an error if the work or another limit is exceeded, if text has no glyph, or if the
/// result could differ between machines.
pub(crate) fn count_tree(
    tree: &Tree,
    transform: Transform,
    canvas: Canvas,
    work: &mut SvgWork,
) -> Result<(), IconError> {
    let reach = canvas.reach().ok_or_else(|| refused("a layer too large"))?;
    Walk { work }.children(tree.root(), Place { transform, canvas, reach })
}

#[derive(Clone, Copy)]
struct Place {
    transform: Transform,
    canvas: Canvas,
    /// The area to which resvg clips layers.
    reach: Rect,
}

impl Place {
    fn within(self, transform: Transform) -> Self {
        Self { transform: self.transform.pre_concat(transform), ..self }
    }
}

struct Walk<'a> {
    work: &'a mut SvgWork,
}

impl Walk<'_> {
    fn group(&mut self, group: &Group, place: Place) -> Result<(), IconError> {
        refuse_approximate(group.blend_mode())?;
        let place = place.within(group.transform());
        if !group.should_isolate() {
            return self.children(group, place);
        }
        let inside = self.layer(group, place)?;
        let Some(inside) = inside else { return Ok(()) };
        self.children(group, inside)?;
        for filter in group.filters() {
            self.filter(filter, inside)?;
        }
        let pixels = inside.canvas.pixels();
        let mut clip = group.clip_path();
        while let Some(path) = clip {
            self.work.spend(LAYER_WORK + pixels * CLIP_PIXEL_WORK)?;
            self.clip(path.root(), inside.within(path.transform()))?;
            clip = ClipPath::clip_path(path);
        }
        let mut mask = group.mask();
        while let Some(layer) = mask {
            self.work.spend(LAYER_WORK + pixels * MASK_PIXEL_WORK)?;
            self.children(layer.root(), inside)?;
            mask = Mask::mask(layer);
        }
        Ok(())
    }

    fn filter(&mut self, filter: &Filter, place: Place) -> Result<(), IconError> {
        let (sx, sy) = place.transform.get_scale();
        for primitive in filter.primitives() {
            self.work.spend(primitive_work(primitive.kind(), place.canvas, (sx, sy))?)?;
            let Kind::Image(image) = primitive.kind() else { continue };
            let region = primitive.rect().to_rect().transform(place.transform);
            let Some(region) = region else { continue };
            let transform = Transform::from_row(sx, 0.0, 0.0, sy, region.x(), region.y());
            self.children(image.root(), Place { transform, ..place })?;
        }
        Ok(())
    }

    /// `None` if resvg does not draw the group's layer.
    fn layer(&mut self, group: &Group, place: Place) -> Result<Option<Place>, IconError> {
        let mut place = place;
        if !group.filters().is_empty() {
            // resvg draws filters without rotation, and then rotates the result.
            let t = place.transform;
            let side = |a: f32, b: f32| (a * a + b * b).sqrt();
            let (sx, sy) = (side(t.sx, t.ky), side(t.kx, t.sy));
            let turn = Transform::from_row(t.sx / sx, t.ky / sx, t.kx / sy, t.sy / sy, 0.0, 0.0);
            let Some(back) = turn.invert() else { return Ok(None) };
            let Some(reach) = place.reach.transform(back) else { return Ok(None) };
            place = Place { transform: back.pre_concat(t), reach, ..place };
        }
        let bounds = group.layer_bounding_box().to_rect();
        let Some(bounds) = bounds.transform(place.transform) else { return Ok(None) };
        if exceeds(farthest(bounds), MAX_LAYER_DISTANCE) {
            return Err(refused("a shape too far outside"));
        }
        // A filter's layer is exactly its region. Other layers get a margin for partly covered
        // pixels.
        let margin = if group.filters().is_empty() { 2.0 } else { 0.0 };
        let layer = Canvas::layer(bounds, margin, place.reach);
        let Some((canvas, origin)) = layer else { return Ok(None) };
        let pixels = canvas.pixels();
        if exceeds(pixels, MAX_LAYER_PIXELS) {
            return Err(refused("a layer too large"));
        }
        self.work.spend(LAYER_WORK + pixels * LAYER_PIXEL_WORK)?;
        let transform = Transform::from_translate(-origin.x, -origin.y).pre_concat(place.transform);
        Ok(Some(Place { transform, canvas, ..place }))
    }

    fn children(&mut self, group: &Group, place: Place) -> Result<(), IconError> {
        for child in group.children() {
            match child {
                Node::Group(group) => self.group(group, place)?,
                Node::Path(path) => self.path(path, place)?,
                Node::Image(image) => self.image(image, place)?,
                Node::Text(text) => {
                    check_glyphs(text)?;
                    self.group(text.flattened(), place)?;
                }
            }
        }
        Ok(())
    }

    /// Counts the work for the shapes in a clip path, which are filled and never stroked.
    fn clip(&mut self, group: &Group, place: Place) -> Result<(), IconError> {
        for child in group.children() {
            match child {
                Node::Path(path) => {
                    if let Some(fill) = path.fill() {
                        self.fill(path, fill, place)?;
                    }
                }
                Node::Text(text) => {
                    check_glyphs(text)?;
                    self.clip(text.flattened(), place)?;
                }
                Node::Group(group) => {
                    let place = place.within(group.transform());
                    self.clip(group, place)?;
                    let mut clip = group.clip_path();
                    while let Some(path) = clip {
                        let pixels = place.canvas.pixels() * (CLIP_PIXEL_WORK + LAYER_PIXEL_WORK);
                        self.work.spend(LAYER_WORK + pixels)?;
                        self.clip(path.root(), place.within(path.transform()))?;
                        clip = ClipPath::clip_path(path);
                    }
                }
                Node::Image(_) => {}
            }
        }
        Ok(())
    }

    fn path(&mut self, path: &Path, place: Place) -> Result<(), IconError> {
        if !path.is_visible() {
            return Ok(());
        }
        if let Some(fill) = path.fill() {
            self.fill(path, fill, place)?;
        }
        if let Some(stroke) = path.stroke() {
            self.stroke(path, stroke, place)?;
        }
        Ok(())
    }

    fn fill(&mut self, path: &Path, fill: &Fill, place: Place) -> Result<(), IconError> {
        let paint = self.paint(fill.paint(), place)?;
        self.work.spend(path.data().len() as f64 * SEGMENT_WORK)?;
        let Some(drawn) = path.data().clone().transform(place.transform) else { return Ok(()) };
        self.area(&drawn, paint, place)
    }

    fn area(
        &mut self,
        drawn: &tiny_skia::Path,
        paint: PaintWork,
        place: Place,
    ) -> Result<(), IconError> {
        if !meets(drawn.bounds(), place.canvas) {
            return self.work.spend(PATH_WORK);
        }
        near(drawn)?;
        let scan = scan(drawn, place.canvas);
        let runs = scan.row_edges.min(scan.pixels);
        self.work.spend(
            PATH_WORK
                + scan.edges * EDGE_WORK
                + scan.row_edges * ROW_EDGE_WORK
                + scan.inversions * INVERSION_WORK
                + scan.pixels * paint.pixel
                + runs * paint.run,
        )
    }

    fn stroke(&mut self, path: &Path, stroke: &Stroke, place: Place) -> Result<(), IconError> {
        self.bounds_of_stroke(path, stroke)?;
        let paint = self.paint(stroke.paint(), place)?;
        let mut style = stroke.to_tiny_skia();
        let scale = PathStroker::compute_resolution_scale(&place.transform);
        let mut data = path.data().clone();
        if let Some(dash) = style.dash.take() {
            let list = stroke.dasharray().unwrap_or_default();
            let period: f64 = list.iter().map(|&dash| f64::from(dash)).sum();
            let dashes = length_bound(&data) / period * list.len() as f64;
            if exceeds(dashes, MAX_DASHES) {
                return Err(refused("too many dashes"));
            }
            self.work.spend(dashes * DASH_WORK)?;
            let Some(dashed) = data.dash(&dash, scale) else { return Ok(()) };
            data = dashed;
        }
        self.work.spend(data.len() as f64 * SEGMENT_WORK)?;
        if is_hairline(path, stroke, place.transform) {
            let Some(drawn) = data.transform(place.transform) else { return Ok(()) };
            if !meets(drawn.bounds(), place.canvas) {
                return self.work.spend(PATH_WORK);
            }
            near(&drawn)?;
            let (lines, pixels) = hairlines(&drawn, place.canvas);
            let paint = paint.run + paint.pixel;
            return self
                .work
                .spend(PATH_WORK + lines * HAIR_LINE_WORK + pixels * (HAIR_PIXEL_WORK + paint));
        }
        let Some(bounds) = data.bounds().transform(place.transform) else { return Ok(()) };
        let outline = self.outline(&data, &style, scale, farthest(bounds))?;
        let Some(drawn) = outline.and_then(|outline| outline.transform(place.transform)) else {
            return Ok(());
        };
        self.area(&drawn, paint, place)
    }

    /// usvg outlines strokes to find their bounds. It ignores dashes for this, and creates a second
    /// outline if the path is rotated or skewed.
    fn bounds_of_stroke(&mut self, path: &Path, stroke: &Stroke) -> Result<(), IconError> {
        let style = tiny_skia::Stroke { dash: None, ..stroke.to_tiny_skia() };
        self.outline(path.data(), &style, 1.0, farthest(path.data().bounds()))?;
        if path.abs_transform().has_skew() {
            let turned = path.data().clone().transform(path.abs_transform());
            let Some(turned) = turned else { return Ok(()) };
            self.outline(&turned, &style, 1.0, farthest(turned.bounds()))?;
        }
        Ok(())
    }

    fn outline(
        &mut self,
        data: &tiny_skia::Path,
        style: &tiny_skia::Stroke,
        scale: f32,
        farthest: f64,
    ) -> Result<Option<tiny_skia::Path>, IconError> {
        let is_curve = |segment: &PathSegment| {
            matches!(segment, PathSegment::QuadTo(..) | PathSegment::CubicTo(..))
        };
        let curves = data.segments().filter(is_curve).count() as f64;
        let lines = data.len() as f64 - curves;
        let farthest = farthest.max(f64::from(style.width * scale));
        self.work.check(Outlines { lines, curves, farthest }.work())?;
        let outline = data.stroke(style, scale);
        let pieces = outline.as_ref().map_or(0, tiny_skia::Path::len);
        self.work.spend(pieces as f64 * OUTLINE_PIECE_WORK)?;
        Ok(outline)
    }

    /// Returns a paint's work per pixel, and counts the work for drawing a pattern's tile.
    fn paint(&mut self, paint: &Paint, place: Place) -> Result<PaintWork, IconError> {
        let gradient =
            |stops: usize| PaintWork { pixel: 8.0 + stops as f64, run: 60.0 + 6.0 * stops as f64 };
        match paint {
            Paint::Color(_) => Ok(PaintWork { pixel: 1.0, run: 25.0 }),
            Paint::LinearGradient(paint) => Ok(gradient(paint.stops().len())),
            Paint::RadialGradient(paint) => Ok(gradient(paint.stops().len() + 8)),
            Paint::Pattern(pattern) => {
                let (sx, sy) = place.transform.pre_concat(pattern.transform()).get_scale();
                let rect = pattern.rect();
                let side = |side: f32| if side.is_finite() { side.round() } else { f32::MAX };
                let canvas =
                    Canvas { width: side(rect.width() * sx), height: side(rect.height() * sy) };
                if exceeds(canvas.pixels(), MAX_LAYER_PIXELS) {
                    return Err(refused("pattern too large"));
                }
                self.work.spend(LAYER_WORK + canvas.pixels())?;
                let transform = Transform::from_scale(sx, sy);
                self.children(pattern.root(), Place { transform, canvas, ..place })?;
                Ok(PaintWork { pixel: 60.0, run: 150.0 })
            }
        }
    }

    fn image(&mut self, image: &Image, place: Place) -> Result<(), IconError> {
        let pixels = place.canvas.pixels();
        match image.kind() {
            ImageKind::SVG(tree) => {
                self.work.spend(LAYER_WORK + pixels * LAYER_PIXEL_WORK)?;
                count_tree(tree, place.transform, place.canvas, self.work)
            }
            _ => {
                let bounds = image.size().to_rect(0.0, 0.0);
                if let Some(bounds) = bounds.and_then(|it| it.transform(place.transform))
                    && exceeds(farthest(bounds), MAX_DISTANCE_PIXELS)
                {
                    return Err(refused("a shape too far outside"));
                }
                self.work.spend(PICTURE_WORK + pixels * PICTURE_PIXEL_WORK)
            }
        }
    }
}

#[derive(Clone, Copy)]
struct PaintWork {
    pixel: f64,
    run: f64,
}

fn is_hairline(path: &Path, stroke: &Stroke, transform: Transform) -> bool {
    let length = |x: f32, y: f32| {
        let (x, y) = (x.abs(), y.abs());
        x.max(y) + x.min(y) * 0.5
    };
    let width = stroke.width().get();
    path.rendering_mode().use_shape_antialiasing()
        && length(transform.sx * width, transform.ky * width) <= 1.0
        && length(transform.kx * width, transform.sy * width) <= 1.0
}

fn farthest(bounds: Rect) -> f64 {
    let sides = [bounds.left(), bounds.top(), bounds.right(), bounds.bottom()];
    sides.into_iter().fold(0.0, |most: f64, side| most.max(f64::from(side.abs())))
}

/// tiny-skia skips shapes that cannot have pixels on the canvas.
fn meets(bounds: Rect, canvas: Canvas) -> bool {
    bounds.right() >= -HAIR_MARGIN
        && bounds.bottom() >= -HAIR_MARGIN
        && bounds.left() <= canvas.width + HAIR_MARGIN
        && bounds.top() <= canvas.height + HAIR_MARGIN
}

/// Rejects shapes with such large coordinates that clipping them could overflow in tiny-skia.
fn near(path: &tiny_skia::Path) -> Result<(), IconError> {
    let is_cubic = |segment: PathSegment| matches!(segment, PathSegment::CubicTo(..));
    let farthest = farthest(path.bounds());
    if exceeds(farthest, MAX_CUBIC_PIXELS)
        && (exceeds(farthest, MAX_DISTANCE_PIXELS) || path.segments().any(is_cubic))
    {
        return Err(refused("a shape too far outside"));
    }
    Ok(())
}

/// Rejects text for which the bundled font has no glyph, because an icon must not show empty boxes.
fn check_glyphs(text: &Text) -> Result<(), IconError> {
    let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
    let mut missing = glyphs.skip_while(|glyph| glyph.id.0 != 0).peekable();
    if missing.peek().is_none() {
        return Ok(());
    }
    // If a character has several glyphs, only the last of them has its text.
    let character = missing.map(|glyph| glyph.text.as_str()).find(|text| !text.is_empty());
    Err(refused(svg_font::missing_glyph(character.unwrap_or_default())))
}
