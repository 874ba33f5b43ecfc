//! Draws tiles: the nearest level from thumbnails, and every other tile from the four tiles below
//! it.

use std::collections::HashMap;

use everytab_bundler::map::{BACKGROUND, MapLayout, TileNumber, part::CELL_PIXELS};
use everytab_fetcher::Heartbeat;
use everytab_icon::{
    mosaic::Mosaic,
    picture::Picture,
    thumbnail::{THUMBNAIL_PIXELS, Thumbnail},
};

/// The level of a region's quarters.
pub(super) const QUARTER_LEVEL: u32 = 2;
// The bundler and icon crates do not depend on each other, so this crate compares their constants.
const _: () = assert!(CELL_PIXELS as usize == THUMBNAIL_PIXELS);

/// Thumbnails by bundle number.
pub(super) type Thumbnails = HashMap<u32, Vec<Thumbnail>>;
/// A tile and its file contents.
pub(super) type Tile = (TileNumber, Vec<u8>);

/// A region being drawn. Its tile collects the quarters.
pub(super) struct Region {
    layout: MapLayout,
    top: TileNumber,
    picture: Picture,
}

impl Region {
    pub(super) fn new(layout: MapLayout, top: TileNumber) -> Self {
        Self { layout, top, picture: Picture::plain(layout.tile_pixels(), BACKGROUND) }
    }

    /// Draws a quarter and returns its tiles. A region up to [`QUARTER_LEVEL`] is drawn as a single
    /// quarter.
    pub(super) fn draw_quarter(
        &mut self,
        quarter: TileNumber,
        thumbnails: &Thumbnails,
        heartbeat: &Heartbeat,
    ) -> Vec<Tile> {
        let mut tiles = Vec::new();
        let mut drawing = Drawing { layout: self.layout, thumbnails, heartbeat, tiles: &mut tiles };
        let drawn = drawing.tile(quarter);
        if quarter.level < self.top.level {
            paste_child(&mut self.picture, quarter, &drawn);
        }
        tiles
    }

    /// Returns the region's own tile. `None` if [`Self::draw_quarter`] has already returned it.
    pub(super) fn finish(self) -> Option<Tile> {
        (self.top.level > QUARTER_LEVEL).then(|| (self.top, encoded(&self.picture)))
    }
}

struct Drawing<'a> {
    layout: MapLayout,
    thumbnails: &'a Thumbnails,
    heartbeat: &'a Heartbeat,
    tiles: &'a mut Vec<Tile>,
}

impl Drawing<'_> {
    /// Draws a tile and all tiles below it. The recursion goes through at most three levels.
    fn tile(&mut self, number: TileNumber) -> Picture {
        let mut picture = Picture::plain(self.layout.tile_pixels(), BACKGROUND);
        if number.level == 0 {
            for bundle in self.layout.bundles_in(number, u32::MAX) {
                if let Some(thumbnails) = self.thumbnails.get(&bundle) {
                    let (left, top) = self.layout.offset_in_tile(bundle, 0);
                    let drawn = bundle_picture(self.layout, thumbnails);
                    picture.paste(left, top, drawn.side(), drawn.rgb());
                }
            }
        }
        let layout = self.layout;
        for child in number.children().into_iter().filter(|child| layout.has(*child)) {
            let drawn = self.tile(child);
            paste_child(&mut picture, child, &drawn);
        }
        self.tiles.push((number, encoded(&picture)));
        self.heartbeat.beat();
        picture
    }
}

/// Draws a bundle for the nearest level.
pub(crate) fn bundle_picture(layout: MapLayout, thumbnails: &[Thumbnail]) -> Picture {
    let mut picture = Picture::plain(layout.bundle_pixels(), BACKGROUND);
    for (slot, thumbnail) in thumbnails.iter().enumerate() {
        let (column, row) = (slot % layout.grid(), slot / layout.grid());
        let (left, top) = (column * THUMBNAIL_PIXELS, row * THUMBNAIL_PIXELS);
        picture.paste(left, top, THUMBNAIL_PIXELS, thumbnail);
    }
    picture
}

fn paste_child(picture: &mut Picture, child: TileNumber, drawn: &Picture) {
    paste_halved(picture, child, &halved_of(drawn));
}

/// Works like [`paste_child`], with a picture that is already halved.
pub(super) fn paste_halved(picture: &mut Picture, child: TileNumber, halved: &Picture) {
    let half = |at: u32| (at % 2) as usize * halved.side();
    picture.paste(half(child.column), half(child.row), halved.side(), halved.rgb());
}

pub(crate) fn halved_of(picture: &Picture) -> Picture {
    // A tile's side is a multiple of 48, and a bundle's side is a multiple of 8 before it is
    // halved.
    picture.halved().unwrap_or_else(|| Picture::plain(picture.side() / 2, BACKGROUND))
}

pub(super) fn encoded(picture: &Picture) -> Vec<u8> {
    let mosaic = Mosaic::from_rgb(picture.side(), picture.side(), picture.rgb());
    // A tile's side is a multiple of 48 and at most 1,536.
    mosaic.map(|mosaic| mosaic.write()).unwrap_or_default()
}
