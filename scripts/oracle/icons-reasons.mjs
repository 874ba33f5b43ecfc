// The differences between our pictures and Chromium's that are meant, each by a name: what it
// means, and how it is told from the file and what both sides made of it. The list is closed: a
// difference with no name here is an error, and of several names that fit the first is taken.
// That larger rasters are scaled in linear light here needs no name: both sides' go through our
// scaler before they are compared. Nor does EXIF orientation, which both apply.

/** Two pictures within this many levels of 255 are the same icon to the eye. */
export const NEAR = 3;

/** How many times the browser's own error (icons.mjs) a difference of edges may be. */
const OWN_ERRORS = 2;
/** And at most this: of the corpus' SVGs that are 3 to 10 apart none looks unlike but for text. */
const MOST_EDGES = 10;

const text = ({ bytes }) => bytes.toString("latin1");
const isSvg = ({ theirs }) => Boolean(theirs.averaged);
const isAvif = (row) => /^....ftypavi[fs]/s.test(text(row).slice(0, 12));
/** BMP's compression fields of run lengths: RLE8, RLE4. */
const hasRuns = ({ bytes }) => bytes.toString("latin1", 0, 2) === "BM" && bytes.length > 34 &&
  [1, 2].includes(bytes.readUInt32LE(30));

export const REASONS = [{
  name: "tracking_pixel",
  means: "at most 2x2 pixels: no icon (convert.rs)",
  told: ({ ours }) => ours.kind === "image_too_small",
}, {
  name: "too_large",
  means: "a side of more than 2048 pixels is not decoded (limits.rs)",
  told: ({ ours }) => ours.kind === "image_too_big",
}, {
  name: "ico_entry",
  means: "of an ICO with several entries ours shows the one that suits 32 pixels, Chromium the " +
    "largest at whatever size it is drawn (decoders/ico.rs)",
  told: ({ entries, ours, theirs }) => entries > 1 && ours.kind === null &&
    (ours.width !== theirs.width || ours.height !== theirs.height),
}, {
  name: "colour_profile",
  means: "ours shows the file's numbers as sRGB (decision 0018); Chromium converts them from the " +
    "profile or gamma that the file names, and when told not to it shows the same",
  told: ({ raw }) => raw <= NEAR,
}, {
  name: "bmp_untouched",
  means: "pixels that no run of a bitmap touches are transparent as in Firefox, in Chromium black",
  told: (row) => hasRuns(row) && row.onBlack <= NEAR,
}, {
  name: "avif_unsupported",
  means: "an AVIF of a kind that hardly exists is refused (decision 0103)",
  told: ({ ours }) => ours.kind === "avif_unsupported",
}, {
  name: "avif_opacity",
  means: "Chromium takes the opacity of an AVIF for one of a limited range, though the file says " +
    "that it is full; ours and libavif do not",
  // Colours that are multiplied by opacity stay the same on black.
  told: (row) => isAvif(row) && Math.min(row.limitedOpacity, row.onBlack) <= NEAR,
}, {
  name: "avif_sequence",
  means: "of an AVIF sequence ours shows the primary picture, Chromium the first one of the " +
    "animation, whose full range it takes for a limited one",
  told: (row) => isAvif(row) && text(row).slice(8, 12) === "avis",
}, {
  name: "svg_text",
  means: "ours draws text in one bundled font, Chromium in what the machine has " +
    "(decoders/svg_font.rs)",
  told: (row) => isSvg(row) && row.ours.kind === null && /<text[\s>]/.test(text(row)),
}, {
  name: "svg_edges",
  means: "edges are smoothed otherwise: ours is from Chromium's at most twice as far as " +
    "Chromium's own, drawn 8 times as large and averaged",
  told: (row) => isSvg(row) && row.decoding <= Math.min(OWN_ERRORS * row.ownError, MOST_EDGES),
}];

/** The name of the reason for a difference, null if it has none. */
export function reasonOf(row) {
  return REASONS.find(({ told }) => told(row))?.name ?? null;
}
