//! Tests AVIF. `vectors/avif` contains pictures and the expected PNGs, `vectors/avif_grid` pictures
//! with several tiles, `vectors/avif_hidden` pictures with frames that are not shown, and
//! `vectors/avif_large` large pictures.
//!
//! avifenc 0.11.1 encoded synthetic pictures with libaom, and the large ones with rav1e. avifdec
//! 0.11.1 decoded them, except for the grey picture, because only a newer version (libavif 1.4.2)
//! uses its declared range. The expected 12-bit picture with 4:2:0 chroma was computed with chroma
//! repeated as in Chromium. A script created the grid in which each tile has its own alpha plane.

use everytab_icon::{
    Format, IconError, Pixels, convert::to_tab_icon, decode::decode, measure::measure,
};

pub(crate) const SIDES: (u32, u32) = (27, 21);
/// A vector whose `mdat` box contains only its bitstream.
pub(crate) const PLAIN: &[u8] = include_bytes!("../../vectors/avif/yuv420.avif");
const SEQUENCE: &[u8] = include_bytes!("../../vectors/avif/sequence.avif");

fn boxed(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 8).to_be_bytes(), name.as_slice(), body].concat()
}

fn full(name: &[u8; 4], version: u8, body: &[u8]) -> Vec<u8> {
    boxed(name, &[&[version, 0, 0, 0], body].concat())
}

pub(crate) fn ispe(width: u32, height: u32) -> Vec<u8> {
    full(b"ispe", 0, &[width.to_be_bytes(), height.to_be_bytes()].concat())
}

pub(crate) fn clap(fractions: [u32; 8]) -> Vec<u8> {
    boxed(b"clap", &fractions.map(u32::to_be_bytes).concat())
}

fn nclx(primaries: u8, transfer: u8, matrix: u8) -> Vec<u8> {
    let numbers = [0, primaries, 0, transfer, 0, matrix, 0x80];
    boxed(b"colr", &[b"nclx".as_slice(), &numbers].concat())
}

pub(crate) fn stream() -> Vec<u8> {
    let at = PLAIN.windows(4).position(|name| name == b"mdat").unwrap();
    PLAIN[at + 4..].to_vec()
}

pub(crate) struct Container {
    pub(crate) stream: Vec<u8>,
    pub(crate) kind: [u8; 4],
    pub(crate) ispe: Vec<u8>,
    pub(crate) properties: Vec<Vec<u8>>,
    pub(crate) locations: u8,
    pub(crate) method: u8,
    pub(crate) parts: usize,
    pub(crate) descriptions: u8,
    /// True if the bitstream precedes the `meta` box, in a box with a 64-bit length.
    pub(crate) is_first: bool,
}

impl Default for Container {
    fn default() -> Self {
        Self {
            stream: stream(),
            kind: *b"av01",
            ispe: ispe(SIDES.0, SIDES.1),
            properties: Vec::new(),
            locations: 0,
            method: 0,
            parts: 1,
            descriptions: 1,
            is_first: false,
        }
    }
}

impl Container {
    fn with(properties: &[Vec<u8>]) -> Vec<u8> {
        Self { properties: properties.to_vec(), ..Self::default() }.file()
    }

    pub(crate) fn file(&self) -> Vec<u8> {
        let kind = boxed(b"ftyp", b"avif\0\0\0\0mif1avif");
        let long = [b"\0\0\0\x01mdat".as_slice(), &(self.stream.len() as u64 + 16).to_be_bytes()];
        if self.is_first {
            let meta = self.meta(kind.len() + 16);
            return [kind, long.concat(), self.stream.clone(), meta].concat();
        }
        let offset = if self.method == 1 { 0 } else { kind.len() + self.meta(0).len() + 8 };
        [kind, self.meta(offset), boxed(b"mdat", &self.stream)].concat()
    }

    fn meta(&self, offset: usize) -> Vec<u8> {
        let item = [&[0, 7, 0, 0], self.kind.as_slice(), b"\0"].concat();
        let configuration = boxed(b"av1C", &[0x81, 0, 0x0C, 0]);
        let container = [&[self.ispe.clone(), configuration], self.properties.as_slice()].concat();
        let count = 2 + self.properties.len() as u8;
        let associations: Vec<u8> = (1..=count).map(|index| index | 0x80).collect();
        let association = [&[0, 7, count], associations.as_slice()].concat();
        let times = self.descriptions;
        let associations = [vec![0, 0, 0, times], association.repeat(usize::from(times))].concat();
        let properties = [boxed(b"ipco", &container.concat()), full(b"ipma", 0, &associations)];
        let boxes = [
            full(b"pitm", 0, &[0, 7]),
            self.iloc(offset),
            full(b"iinf", 0, &[&[0, 1], full(b"infe", 2, &item).as_slice()].concat()),
            boxed(b"iprp", &properties.concat()),
            if self.method == 1 { boxed(b"idat", &self.stream) } else { Vec::new() },
        ];
        full(b"meta", 0, &boxes.concat())
    }

    fn iloc(&self, offset: usize) -> Vec<u8> {
        // Offsets and lengths have 4 bytes, the base offset has 8, and there are no extent indices.
        let mut body = vec![0x44, 0x80];
        let id: &[u8] = if self.locations > 1 { &[0, 0, 0, 7] } else { &[0, 7] };
        let one: &[u8] = if self.locations > 1 { &[0, 0, 0, 1] } else { &[0, 1] };
        body.extend([one, id].concat());
        if self.locations > 0 {
            body.extend([0, self.method]);
        }
        body.extend([0, 0]);
        body.extend((offset as u64).to_be_bytes());
        body.extend((self.parts as u16).to_be_bytes());
        let length = self.stream.len().div_ceil(self.parts.max(1)).max(1);
        for start in (0..self.stream.len()).step_by(length) {
            body.extend((start as u32).to_be_bytes());
            body.extend((length.min(self.stream.len() - start) as u32).to_be_bytes());
        }
        full(b"iloc", self.locations, &body)
    }
}

fn pixels(file: &[u8]) -> Pixels {
    let (measured, pixels) = decode(file).unwrap();
    assert_eq!((measured.format, measured.content_type), (Format::Avif, "image/avif"));
    assert_eq!((measured.width, measured.height), (pixels.width(), pixels.height()));
    assert_eq!(measure(file), Ok(measured));
    pixels
}

pub(crate) fn kind(file: &[u8]) -> &'static str {
    decode(file).unwrap_err().kind()
}

pub(crate) fn at(pixels: &Pixels, x: u32, y: u32) -> [u8; 4] {
    pixels.iter().nth((y * pixels.width() + x) as usize).unwrap()
}

#[test]
fn each_vector_decodes_as_in_libavif() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/avif");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "avif") {
            continue;
        }
        seen += 1;
        let name = path.file_stem().unwrap().to_str().unwrap();
        let ours = pixels(&std::fs::read(&path).unwrap());
        let (_, reference) = decode(&std::fs::read(path.with_extension("png")).unwrap()).unwrap();
        assert_eq!((ours.width(), ours.height()), SIDES, "{name}");
        // libavif divides by alpha with less precision, and converts 10-bit pictures with alpha
        // with libyuv.
        let most = if name.starts_with("opacity-") { 2 } else { 1 };
        for (ours, reference) in ours.iter().zip(reference.iter()) {
            let is_near = |(a, b): (&u8, &u8)| a.abs_diff(*b) <= most;
            let is_unseen = ours[3] == 0 && reference[3] == 0;
            let all_near = ours.iter().zip(&reference).all(is_near);
            assert!(is_unseen || all_near, "{name}: {ours:?}, {reference:?}");
        }
    }
    assert_eq!(seen, 17);
}

#[test]
fn the_container_may_be_written_in_many_ways() {
    let plain = pixels(PLAIN);
    let ways = [
        Container::default(),
        Container { locations: 1, ..Container::default() },
        Container { locations: 2, parts: 3, ..Container::default() },
        Container { locations: 1, method: 1, parts: 2, ..Container::default() },
        Container { is_first: true, ..Container::default() },
    ];
    for (number, way) in ways.iter().enumerate() {
        assert_eq!(pixels(&way.file()), plain, "{number}");
    }
    let mut stream = stream();
    stream.extend([0x0A, 0xFF, 0xFF]);
    assert_eq!(pixels(&Container { stream, ..Container::default() }.file()), plain);
    assert_eq!(pixels(&Container::with(&[boxed(b"pasp", &[0; 8])])), plain);
}

#[test]
fn a_picture_is_cropped_then_rotated_then_mirrored() {
    let plain = pixels(PLAIN);
    let (right, bottom) = (SIDES.0 - 1, SIDES.1 - 1);
    let turned = pixels(&Container::with(&[boxed(b"irot", &[1])]));
    assert_eq!((turned.width(), turned.height()), (SIDES.1, SIDES.0));
    // The rotation is counterclockwise, so the right column becomes the top row.
    assert_eq!(at(&turned, 0, 0), at(&plain, right, 0));
    assert_eq!(at(&turned, bottom, 0), at(&plain, right, bottom));
    let mirrored = pixels(&Container::with(&[boxed(b"imir", &[1])]));
    assert_eq!(at(&mirrored, 0, 0), at(&plain, right, 0));
    let both = pixels(&Container::with(&[boxed(b"irot", &[1]), boxed(b"imir", &[0])]));
    assert_eq!(at(&both, 0, 0), at(&plain, 0, 0));
    assert_eq!(at(&both, 0, right), at(&plain, right, 0));
    // This moves the picture's centre by -7/2 and -11/2.
    let corner = clap([20, 1, 10, 1, 7_u32.wrapping_neg(), 2, 11_u32.wrapping_neg(), 2]);
    let cropped = pixels(&Container::with(std::slice::from_ref(&corner)));
    assert_eq!((cropped.width(), cropped.height()), (20, 10));
    assert_eq!(at(&cropped, 19, 9), at(&plain, 19, 9));
    let all = pixels(&Container::with(&[corner, boxed(b"irot", &[3])]));
    assert_eq!(at(&all, 9, 0), at(&plain, 0, 0));
    for fractions in
        [[20, 1, 10, 1, 0, 1, 0, 1], [20, 0, 10, 1, 0, 0, 0, 1], [7, 2, 9, 2, 0, 1, 0, 1]]
    {
        assert_eq!(pixels(&Container::with(&[clap(fractions)])), plain);
    }
}

#[test]
fn unsupported_features_are_rejected_by_name() {
    let files = [
        Container { kind: *b"iovl", ..Container::default() }.file(),
        Container { kind: *b"hvc1", ..Container::default() }.file(),
        Container { locations: 1, method: 2, ..Container::default() }.file(),
        Container::with(&[boxed(b"what", b"")]),
        Container::with(&[boxed(b"lsel", &[0, 1])]),
    ];
    for (number, file) in files.iter().enumerate() {
        assert_eq!(kind(file), "avif_unsupported", "{number}");
        assert_eq!(measure(file), Err(IconError::AvifUnsupported), "{number}");
    }
    for file in [Container::with(&[nclx(9, 16, 14)]), Container::with(&[nclx(1, 10, 6)])] {
        assert_eq!(kind(&file), "avif_unsupported");
        assert_eq!(measure(&file).unwrap().width, SIDES.0);
    }
    // Without the `meta` box, the primary picture is not declared.
    let mut sequence = SEQUENCE.to_vec();
    let at = sequence.windows(4).position(|name| name == b"meta").unwrap();
    sequence[at..at + 4].copy_from_slice(b"free");
    assert_eq!(kind(&sequence), "avif_unsupported");
}

#[test]
fn colours_are_converted_to_srgb_unless_there_is_a_profile() {
    let plain = pixels(PLAIN);
    let light = |pixels: &Pixels| pixels.iter().map(|pixel| u32::from(pixel[1])).sum::<u32>();
    assert_eq!(pixels(&Container::with(&[nclx(1, 13, 6)])), plain);
    assert_eq!(pixels(&Container::with(&[nclx(1, 1, 6)])), plain);
    let profile = boxed(b"colr", b"prof and its bytes");
    for (primaries, transfer) in [(12, 13), (9, 16), (1, 18), (1, 8)] {
        let tagged = nclx(primaries, transfer, 6);
        let converted = pixels(&Container::with(std::slice::from_ref(&tagged)));
        assert_ne!(converted, plain, "{primaries} {transfer}");
        assert_eq!(pixels(&Container::with(&[tagged, profile.clone()])), plain);
    }
    assert!(light(&pixels(&Container::with(&[nclx(1, 8, 6)]))) > light(&plain));
    let with_peak = |nits: [u8; 2]| {
        let light_levels = boxed(b"clli", &[nits[0], nits[1], 0, 0]);
        light(&pixels(&Container::with(&[nclx(1, 16, 6), light_levels])))
    };
    let without = light(&pixels(&Container::with(&[nclx(1, 16, 6)])));
    assert_eq!(with_peak([0, 0]), without);
    assert_eq!(with_peak(1000_u16.to_be_bytes()), without);
    assert!(with_peak(400_u16.to_be_bytes()) > without);
    let work = |file: &[u8]| everytab_icon::decode::decode_counted(file).1.pixels;
    let more = 6 * u64::from(SIDES.0 * SIDES.1);
    assert_eq!(work(&Container::with(&[nclx(1, 8, 6)])), work(&Container::with(&[])) + more);
}

#[test]
fn operating_points_up_to_31_are_accepted() {
    for point in [0, 1, 31] {
        let file = Container::with(&[boxed(b"a1op", &[point])]);
        assert_eq!(pixels(&file), pixels(PLAIN), "{point}");
    }
    assert_eq!(kind(&Container::with(&[boxed(b"a1op", &[32])])), "image_corrupt");
}

#[test]
fn a_file_that_ends_early_is_corrupt() {
    for end in 24..PLAIN.len() {
        let kind = kind(&PLAIN[..end]);
        assert!(matches!(kind, "image_corrupt"), "{end}: {kind}");
    }
    assert_eq!(
        kind(&Container { ispe: Vec::new(), ..Container::default() }.file()),
        "image_corrupt"
    );
    let empty = Container { stream: Vec::new(), ..Container::default() };
    assert_eq!(kind(&Container { parts: 0, ..empty }.file()), "image_corrupt");
}

#[test]
fn wrong_bytes_in_a_container_never_panic() {
    let file = Container { locations: 1, parts: 2, ..Container::default() }.file();
    let end = file.len() - stream().len();
    for at in 24..end {
        for wrong in [0x00, 0x01, 0x7F, 0x80, 0xFF] {
            let mut file = file.clone();
            file[at] = wrong;
            if let Err(error) = to_tab_icon(&file) {
                let known = ["image_corrupt", "avif_unsupported", "image_too_big"];
                assert!(known.contains(&error.kind()), "{at}: {error}");
            }
        }
    }
}

#[test]
fn an_item_that_is_described_twice_is_corrupt() {
    // Otherwise a file could make us read many descriptions again for each tile of a grid.
    let file = Container { descriptions: 2, ..Container::default() }.file();
    assert_eq!(kind(&file), "image_corrupt");
    assert_eq!(measure(&file).unwrap_err().kind(), "image_corrupt");
}

pub(crate) const GRID: &[u8] = include_bytes!("../../vectors/avif_grid/444.avif");

fn changed(places: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut file = GRID.to_vec();
    for (old, new) in places {
        let at = file.windows(old.len()).position(|found| found == *old).unwrap();
        file[at..at + new.len()].copy_from_slice(new);
    }
    file
}

const LAYOUT: &[u8] = &[0, 0, 1, 2, 0, 192, 0, 128];
const GRID_SIDES: &[u8] = &[0, 0, 0, 192, 0, 0, 0, 128];

#[test]
fn metadata_in_a_bitstream_never_reaches_the_decoder() {
    // Short T.35 metadata OBUs, on which the decoder panics.
    for metadata in [&[0x2A, 3, 4, 0xFF, 0x80][..], &[0x2A, 2, 4, 0x80]] {
        let file = Container { stream: [metadata, &stream()].concat(), ..Container::default() };
        assert_eq!(pixels(&file.file()), pixels(PLAIN));
    }
}

#[test]
fn tiles_of_a_grid_make_one_picture() {
    let vector = |png: &[u8]| decode(png).unwrap().1;
    let whole = pixels(GRID);
    assert_eq!((whole.width(), whole.height()), (192, 128));
    assert_eq!(whole, vector(include_bytes!("../../vectors/avif_grid/444.png")));
    let opacity = pixels(include_bytes!("../../vectors/avif_grid/opacity.avif"));
    assert_eq!(opacity, vector(include_bytes!("../../vectors/avif_grid/opacity.png")));
    // libavif interpolates chroma across tile edges, but we interpolate only within each tile.
    let halved = pixels(include_bytes!("../../vectors/avif_grid/420.avif"));
    let theirs = vector(include_bytes!("../../vectors/avif_grid/420.png"));
    for (at, (ours, theirs)) in (0..).zip(halved.iter().zip(theirs.iter())) {
        let (x, y) = (at % 192_u32, at / 192);
        let is_edge = [63, 64, 127, 128].contains(&x) || [63, 64].contains(&y);
        let near = ours.iter().zip(theirs).all(|(ours, theirs)| ours.abs_diff(theirs) <= 1);
        assert!(near || is_edge, "{x} {y}: {ours:?} {theirs:?}");
    }
    let cut = pixels(&changed(&[
        (LAYOUT, &[0, 0, 1, 2, 0, 129, 0, 100]),
        (GRID_SIDES, &[0, 0, 0, 129, 0, 0, 0, 100]),
    ]));
    assert_eq!((cut.width(), cut.height()), (129, 100));
    for (x, y) in (0..100).flat_map(|y| (0..129).map(move |x| (x, y))) {
        assert_eq!(at(&cut, x, y), at(&whole, x, y), "{x} {y}");
    }
}

#[test]
fn each_tile_in_a_grid_may_have_its_own_alpha_plane() {
    // The first tile has alpha 255, the second has alpha 100.
    let whole = pixels(include_bytes!("../../vectors/avif_grid/tile-opacity.avif"));
    assert_eq!((whole.width(), whole.height()), (128, 64));
    assert_eq!(at(&whole, 63, 63), [200, 30, 60, 255]);
    assert_eq!(at(&whole, 64, 0), [20, 90, 220, 100]);
}

#[test]
fn a_grid_whose_tiles_do_not_fit_is_corrupt() {
    let sides = |width: u8, height: u8| -> Vec<u8> {
        changed(&[
            (LAYOUT, &[0, 0, 1, 2, 0, width, 0, height]),
            (GRID_SIDES, &[0, 0, 0, width, 0, 0, 0, height]),
        ])
    };
    let files = [
        sides(128, 128),
        sides(193, 128),
        sides(192, 64),
        sides(192, 129),
        changed(&[(LAYOUT, &[0, 0, 1, 2, 0, 191, 0, 128])]),
        changed(&[(LAYOUT, &[0, 0, 1, 1, 0, 192, 0, 128])]),
        changed(&[(LAYOUT, &[0, 0, 1, 3, 0, 192, 0, 128])]),
        twice(),
        changed(&[(LAYOUT, &[1])]),
        changed(&[(LAYOUT, &[0, 1])]),
        changed(&[(&[0, 0, 0, 64, 0, 0, 0, 64], &[0, 0, 0, 64, 0, 0, 0, 63])]),
    ];
    for (number, file) in files.iter().enumerate() {
        assert_eq!(kind(file), "image_corrupt", "{number}");
    }
    let mut file = include_bytes!("../../vectors/avif_grid/opacity.avif").to_vec();
    let at = file.windows(4).position(|name| name == b"auxl").unwrap();
    assert_eq!(file[at + 6..at + 10], [0, 1, 0, 1], "one reference, to the first item");
    file[at + 9] = 2;
    assert_eq!(kind(&file), "image_corrupt");
    assert_eq!(kind(&changed(&[(LAYOUT, &[0, 0, 7, 8])])), "avif_unsupported");
}

/// Returns the grid vector with a reference to its first tile instead of the second one.
fn twice() -> Vec<u8> {
    let mut file = GRID.to_vec();
    let at = file.windows(4).position(|name| name == b"dimg").unwrap();
    assert_eq!(file[at + 4..at + 12], [0, 1, 0, 6, 0, 2, 0, 3], "six tiles, the second item first");
    file[at + 11] = 2;
    file
}
