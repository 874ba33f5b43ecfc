//! Draws tiles: the finest level from thumbnails, and every other tile from the four tiles below
//! it.

use std::collections::HashMap;

use everytab_bundler::map::{BACKGROUND, MapLayout, TileNumber, part::CELL_PIXELS};
use everytab_fetcher::Heartbeat;
use everytab_icon::{
    mosaic::Mosaic,
    picture::Picture,
    thumbnail::{THUMBNAIL_PIXELS, Thumbnail},
};

pub(super) const QUARTER_LEVEL: u32 = 2;
// The bundler and icon crates do not depend on each other, so this crate compares their constants.
const _: () = assert!(CELL_PIXELS as usize == THUMBNAIL_PIXELS);

pub(super) type Thumbnails = HashMap<u32, Vec<Thumbnail>>;
pub(super) type Tile = (TileNumber, Vec<u8>);

pub(super) struct Region {
    layout: MapLayout,
    top: TileNumber,
    picture: Picture,
}

impl Region {
    pub(super) fn new(layout: MapLayout, top: TileNumber) -> Self {
        Self { layout, top, picture: Picture::plain(layout.tile_pixels(), BACKGROUND) }
    }

    /// A region up to [`QUARTER_LEVEL`] is drawn as a single quarter.
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

pub(super) fn paste_halved(picture: &mut Picture, child: TileNumber, halved: &Picture) {
    let half = |at: u32| (at % 2) as usize * halved.side();
    picture.paste(half(child.column), half(child.row), halved.side(), halved.rgb());
}

pub(crate) fn halved_of(picture: &Picture) -> Picture {
    picture.halved().unwrap_or_else(|| Picture::plain(picture.side() / 2, BACKGROUND))
}

pub(super) fn encoded(picture: &Picture) -> Vec<u8> {
    let mosaic = Mosaic::from_rgb(picture.side(), picture.side(), picture.rgb());
    mosaic.map(|mosaic| mosaic.write()).unwrap_or_default()
}
