//! Reads an AVIF container (ISO/IEC 14496-12, 23008-12 and AV1 Image File Format 1.1). Every length
//! is checked, and no list has more elements than the file has bytes.

use std::collections::BTreeSet;

use super::{
    avif_reader::{Name, Reader},
    avif_stream::Colour,
};

/// Maximum auxiliary pictures to check when looking for the alpha plane. Those beyond this limit
/// are ignored.
const MAX_AUXILIARY: usize = 16;
/// Maximum tiles per picture. Pictures beyond this limit are rejected, because we read the file's
/// boxes again for each tile.
const MAX_TILES: usize = 64;
/// Names that declare an auxiliary picture as an alpha plane.
const OPACITY: [&[u8]; 2] =
    [b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0", b"urn:mpeg:hevc:2015:auxid:1\0"];
/// Layer selection (`lsel`) that decodes all layers and shows the last one.
const ALL_LAYERS: u16 = 0xFFFF;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Corrupt(&'static str),
    Unsupported,
}

#[derive(Debug)]
pub(crate) struct Primary<'a> {
    pub(crate) colour: Item<'a>,
    /// `None` if the picture is opaque.
    pub(crate) alpha: Option<Item<'a>>,
    pub(crate) is_premultiplied: bool,
}

#[derive(Debug)]
pub(crate) struct Item<'a> {
    id: u32,
    pub(crate) properties: Properties,
    pub(crate) columns: usize,
    pub(crate) tiles: Vec<Tile<'a>>,
}

#[derive(Debug)]
pub(crate) struct Tile<'a> {
    id: u32,
    pub(crate) sides: (u32, u32),
    extents: Vec<&'a [u8]>,
}

impl Tile<'_> {
    pub(crate) fn stream(&self) -> Vec<u8> {
        self.extents.concat()
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Properties {
    pub(crate) sides: Option<(u32, u32)>,
    /// The colour description. It overrides the one in the bitstream.
    pub(crate) colour: Option<Colour>,
    /// True if a colour profile defines the colours. We ignore profiles, so such colours are not
    /// converted (docs/decisions/0018).
    pub(crate) has_profile: bool,
    /// The brightest pixel's luminance in nits, or 0 if this is unknown.
    pub(crate) peak_nits: u16,
    pub(crate) operating_point: u8,
    /// The visible part (`clap`): its width and height, and its centre's horizontal and vertical
    /// offset, as fractions.
    pub(crate) aperture: Option<[(u32, u32); 4]>,
    /// Counterclockwise rotations by 90 degrees, applied after cropping.
    pub(crate) turns: u8,
    /// 0 swaps top and bottom, 1 swaps left and right, after rotation.
    pub(crate) mirror: Option<u8>,
    has_configuration: bool,
    is_opacity: bool,
}

pub(crate) fn primary(bytes: &[u8]) -> Result<Primary<'_>, Refusal> {
    let meta = Reader(bytes).find_box(b"meta");
    let meta = meta.ok_or_else(|| without_primary(bytes, "no meta box"))?;
    let meta = Meta::read(bytes, meta).ok_or(Refusal::Corrupt("unreadable meta box"))?;
    let id = meta.primary.ok_or_else(|| without_primary(bytes, "no primary picture"))?;
    let colour = meta.item(id, None)?;
    let alpha = meta.alpha_of(&colour)?;
    let is_premultiplied = alpha.as_ref().is_some_and(|alpha| {
        meta.references(*b"prem").any(|(from, to)| from == id && to == alpha.id)
    });
    Ok(Primary { colour, alpha, is_premultiplied })
}

fn without_primary(bytes: &[u8], reason: &'static str) -> Refusal {
    match Reader(bytes).find_box(b"moov") {
        Some(_) => Refusal::Unsupported,
        None => Refusal::Corrupt(reason),
    }
}

struct Meta<'a> {
    file: &'a [u8],
    primary: Option<u32>,
    data: &'a [u8],
    locations: &'a [u8],
    information: &'a [u8],
    references: &'a [u8],
    properties: Vec<(Name, &'a [u8])>,
    associations: Vec<&'a [u8]>,
}

impl<'a> Meta<'a> {
    fn read(file: &'a [u8], body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(body);
        reader.version_and_flags()?;
        let find = |name| reader.find_box(name).unwrap_or_default();
        let primary = match reader.find_box(b"pitm") {
            Some(body) => {
                let mut body = Reader(body);
                let (version, _) = body.version_and_flags()?;
                Some(body.id(version > 0)?)
            }
            None => None,
        };
        let mut properties = Reader(find(b"iprp"));
        let mut container = Reader(properties.find_box(b"ipco").unwrap_or_default());
        Some(Self {
            file,
            primary,
            data: find(b"idat"),
            locations: find(b"iloc"),
            information: find(b"iinf"),
            references: find(b"iref"),
            properties: container.boxes().collect(),
            associations: properties
                .boxes()
                .filter(|(name, _)| name == b"ipma")
                .map(|(_, body)| body)
                .collect(),
        })
    }

    fn item(&self, id: u32, others: Option<(u32, u32)>) -> Result<Item<'a>, Refusal> {
        let kind = self.kind(id).ok_or(Refusal::Corrupt("an item without a type"))?;
        let properties = self.properties_of(id)?;
        let (columns, tiles) = match kind.as_ref() {
            Some(b"av01") => (1, vec![self.tile(id, &properties, others)?]),
            Some(b"grid") => self.grid(id, &properties)?,
            _ => return Err(Refusal::Unsupported),
        };
        Ok(Item { id, properties, columns, tiles })
    }

    fn tile(
        &self,
        id: u32,
        properties: &Properties,
        others: Option<(u32, u32)>,
    ) -> Result<Tile<'a>, Refusal> {
        let own = properties.sides.filter(|_| properties.has_configuration || others.is_some());
        let sides = own
            .or(others)
            .ok_or(Refusal::Corrupt("a picture without dimensions or configuration"))?;
        Ok(Tile { id, sides, extents: self.extents(id)? })
    }

    fn grid(&self, id: u32, properties: &Properties) -> Result<(usize, Vec<Tile<'a>>), Refusal> {
        let grid = Grid::read(&self.extents(id)?.concat());
        let Grid { columns, rows, sides } = grid.ok_or(Refusal::Corrupt("an unreadable grid"))?;
        if columns * rows > MAX_TILES {
            return Err(Refusal::Unsupported);
        }
        let tiles = self.references(*b"dimg").filter(|&(from, _)| from == id);
        let tiles: Vec<u32> = tiles.map(|(_, to)| to).take(columns * rows + 1).collect();
        let distinct: BTreeSet<u32> = tiles.iter().copied().collect();
        if tiles.len() != columns * rows || distinct.len() != tiles.len() {
            return Err(Refusal::Corrupt("a grid with the wrong number of tiles"));
        }
        let tile = |id: u32| match self.kind(id) {
            Some(Some([b'a', b'v', b'0', b'1'])) => self.tile(id, &self.properties_of(id)?, None),
            _ => Err(Refusal::Unsupported),
        };
        let tiles: Vec<Tile<'_>> = tiles.into_iter().map(tile).collect::<Result<_, _>>()?;
        let (width, height) = tiles[0].sides;
        let covers = |side: u32, tiles: usize, whole: u32| {
            let others = u64::from(side) * (tiles as u64 - 1);
            // The last tile in a row or column may extend beyond the picture, but at least one of
            // its pixels must be inside.
            (others + 1..=others + u64::from(side)).contains(&u64::from(whole))
        };
        let is_whole = properties.sides == Some(sides)
            && tiles.iter().all(|tile| tile.sides == (width, height))
            && covers(width, columns, sides.0)
            && covers(height, rows, sides.1);
        if is_whole { Ok((columns, tiles)) } else { Err(Refusal::Corrupt("tiles that do not fit")) }
    }

    fn alpha_of(&self, colour: &Item<'_>) -> Result<Option<Item<'a>>, Refusal> {
        let auxiliary = self.references(*b"auxl").filter(|&(_, to)| to == colour.id);
        for (from, _) in auxiliary.take(MAX_AUXILIARY) {
            // Skip an auxiliary picture with unreadable properties, because it may not be an alpha
            // plane.
            let Ok(properties) = self.properties_of(from) else { continue };
            if properties.is_opacity {
                return self.item(from, colour.properties.sides).map(Some);
            }
        }
        if colour.tiles.iter().any(|tile| tile.id == colour.id) {
            return Ok(None);
        }
        let mut tiles = Vec::new();
        for tile in &colour.tiles {
            // Check only each tile's first auxiliary picture, because each check reads all boxes.
            let mut auxiliary = self.references(*b"auxl").filter(|&(_, to)| to == tile.id);
            let Some((id, _)) = auxiliary.next() else { continue };
            let properties = self.properties_of(id)?;
            if properties.is_opacity {
                tiles.push(self.tile(id, &properties, Some(tile.sides))?);
            }
        }
        if tiles.is_empty() {
            return Ok(None);
        }
        let is_whole = tiles.len() == colour.tiles.len()
            && tiles.iter().all(|tile| tile.sides == colour.tiles[0].sides);
        if !is_whole {
            return Err(Refusal::Corrupt("tiles with missing or unequal alpha planes"));
        }
        let properties = Properties { sides: colour.properties.sides, ..Properties::default() };
        Ok(Some(Item { id: tiles[0].id, properties, columns: colour.columns, tiles }))
    }

    fn kind(&self, id: u32) -> Option<Option<Name>> {
        let mut reader = Reader(self.information);
        let (version, _) = reader.version_and_flags()?;
        reader.id(version > 0)?;
        let entry = |mut entry: Reader<'_>| {
            let (version, _) = entry.version_and_flags()?;
            let found = entry.id(version > 2)?;
            let is_protected = entry.u16()? != 0;
            let kind = entry.array()?;
            (version >= 2 && found == id).then_some((!is_protected).then_some(kind))
        };
        reader.boxes().filter(|(name, _)| name == b"infe").find_map(|(_, body)| entry(Reader(body)))
    }

    fn references(&self, kind: Name) -> impl Iterator<Item = (u32, u32)> {
        let mut reader = Reader(self.references);
        let is_long = reader.version_and_flags().is_some_and(|(version, _)| version > 0);
        let boxes = std::iter::from_fn(move || reader.next_box());
        boxes.filter(move |(name, _)| *name == kind).flat_map(move |(_, body)| {
            let mut body = Reader(body);
            let from = body.id(is_long);
            let count = body.u16().unwrap_or(0);
            (0..count).map_while(move |_| Some((from?, body.id(is_long)?)))
        })
    }

    fn properties_of(&self, id: u32) -> Result<Properties, Refusal> {
        let mut properties = Properties::default();
        for association in &self.associations {
            let unreadable = Refusal::Corrupt("unreadable properties");
            for (index, is_essential) in associated(association, id).ok_or(unreadable)? {
                let Some(index) = index.checked_sub(1) else { continue };
                let (name, body) = self.properties.get(index).ok_or(unreadable)?;
                if !properties.add(*name, Reader(body)).ok_or(unreadable)? && is_essential {
                    return Err(Refusal::Unsupported);
                }
            }
        }
        Ok(properties)
    }

    fn extents(&self, id: u32) -> Result<Vec<&'a [u8]>, Refusal> {
        let unreadable = Refusal::Corrupt("unreadable locations");
        let location = Location::find(self.locations, id).ok_or(unreadable)?;
        let source = match location.method {
            0 => self.file,
            1 => self.data,
            _ => return Err(Refusal::Unsupported),
        };
        let part = |(offset, length): (u64, u64)| {
            let start = usize::try_from(location.base.checked_add(offset)?).ok()?;
            let part = source.get(start..)?;
            part.get(..usize::try_from(length).ok()?)
        };
        let missing = Refusal::Corrupt("a picture that is not in the file");
        let extents: Option<Vec<&[u8]>> = location.extents.into_iter().map(part).collect();
        let extents = extents.ok_or(missing)?;
        // Extents may overlap, but their total length must not exceed the file's length.
        let length: usize = extents.iter().map(|extent| extent.len()).sum();
        let has_empty = extents.iter().any(|extent| extent.is_empty());
        if length == 0 || length > self.file.len() || has_empty {
            return Err(missing);
        }
        Ok(extents)
    }
}

struct Grid {
    columns: usize,
    rows: usize,
    sides: (u32, u32),
}

impl Grid {
    fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        let (version, flags) = (reader.u8()?, reader.u8()?);
        let (rows, columns) = (usize::from(reader.u8()?) + 1, usize::from(reader.u8()?) + 1);
        let mut side = || if flags & 1 == 1 { reader.u32() } else { reader.u16().map(u32::from) };
        let sides = (side()?, side()?);
        (version == 0).then_some(Self { columns, rows, sides })
    }
}

/// Returns the indices of an item's properties, which start at 1, and whether each is essential.
fn associated(body: &[u8], id: u32) -> Option<Vec<(usize, bool)>> {
    let mut reader = Reader(body);
    let (version, flags) = reader.version_and_flags()?;
    let mut found = Vec::new();
    for _ in 0..reader.u32()? {
        let entry = reader.id(version > 0)?;
        if entry == id && !found.is_empty() {
            return None;
        }
        for _ in 0..reader.u8()? {
            let (index, is_essential) = if flags & 1 == 1 {
                let index = reader.u16()?;
                (index & 0x7FFF, index > 0x7FFF)
            } else {
                let index = reader.u8()?;
                (u16::from(index & 0x7F), index > 0x7F)
            };
            if entry == id {
                found.push((usize::from(index), is_essential));
            }
        }
    }
    Some(found)
}

impl Properties {
    /// Returns `Some(false)` if the property is not supported, and `None` if it is truncated.
    fn add(&mut self, name: Name, mut body: Reader<'_>) -> Option<bool> {
        match &name {
            b"ispe" => {
                body.version_and_flags()?;
                self.sides = Some((body.u32()?, body.u32()?));
            }
            b"av1C" => {
                body.array::<4>()?;
                self.has_configuration = true;
            }
            b"colr" if body.array()? == *b"nclx" => {
                let (primaries, transfer) = (body.u16()?, body.u16()?);
                let matrix = body.u16()?;
                let full_range = body.u8()? & 0x80 != 0;
                self.colour = Some(Colour { primaries, transfer, matrix, full_range });
            }
            b"colr" => self.has_profile = true,
            b"clli" => self.peak_nits = body.u16()?,
            b"clap" => {
                let mut fraction = || Some((body.u32()?, body.u32()?));
                self.aperture = Some([fraction()?, fraction()?, fraction()?, fraction()?]);
            }
            b"irot" => self.turns = body.u8()? & 3,
            b"imir" => self.mirror = Some(body.u8()? & 1),
            b"auxC" => {
                body.version_and_flags()?;
                self.is_opacity = OPACITY.iter().any(|name| body.0.starts_with(name));
            }
            b"a1op" => self.operating_point = body.u8()?,
            b"lsel" => return Some(body.u16()? == ALL_LAYERS),
            b"pixi" | b"pasp" | b"a1lx" | b"mdcv" | b"amve" => {}
            _ => return Some(false),
        }
        Some(true)
    }
}

struct Location {
    /// 0 if offsets refer to the file, and 1 if they refer to the `idat` box.
    method: u16,
    base: u64,
    extents: Vec<(u64, u64)>,
}

impl Location {
    fn find(body: &[u8], id: u32) -> Option<Self> {
        let mut reader = Reader(body);
        let (version, _) = reader.version_and_flags()?;
        let [sizes, more_sizes] = reader.array()?;
        let (offset_bytes, length_bytes) = (sizes >> 4, sizes & 15);
        let has_method = matches!(version, 1 | 2);
        let (base_bytes, index_bytes) =
            (more_sizes >> 4, if has_method { more_sizes & 15 } else { 0 });
        if length_bytes == 0 {
            // Reject this, because otherwise a file could declare millions of empty extents.
            return None;
        }
        for _ in 0..reader.id(version > 1)? {
            let found = reader.id(version > 1)?;
            let method = if has_method { reader.u16()? & 15 } else { 0 };
            reader.u16()?;
            let base = reader.sized(base_bytes)?;
            let mut extents = Vec::new();
            for _ in 0..reader.u16()? {
                reader.sized(index_bytes)?;
                let extent = (reader.sized(offset_bytes)?, reader.sized(length_bytes)?);
                if found == id {
                    extents.push(extent);
                }
            }
            if found == id {
                return Some(Self { method, base, extents });
            }
        }
        None
    }
}
