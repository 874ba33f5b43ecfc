// Names the intended differences between our pictures and Chromium's. The list is closed: a
// difference without a name is an error, and the first name that matches wins.

/** Two pictures within this many levels out of 255 look identical. */
export const NEAR = 3;
/** Pictures differ if they are further apart than this. */
export const FAR = 10;

/** Maximum ratio between a difference at edges and the browser's own error (icons.mjs). */
const OWN_ERRORS = 3;
/**
 * Maximum difference at edges: wordmarks in our sets that are 10 to 16 levels apart still look
 * alike.
 */
const MOST_EDGES = 16;

const text = ({ bytes }) => bytes.toString("latin1");
const isSvg = ({ kind }) => kind === "svg";
const isAvif = (row) => /^....ftypavi[fs]/s.test(text(row).slice(0, 12));

/** Returns true if the root has neither a viewBox nor both a width and a height with lengths. */
function hasNoRatio(svg) {
  const [root] = /<svg\b(?:"[^"]*"|'[^']*'|[^>"'])*>/.exec(svg) ?? [""];
  const sides = root.match(/\s(?:width|height)\s*=\s*["'][^"'%]*["']/g) ?? [];
  return !/\sviewBox\s*=/.test(root) && sides.length < 2;
}

export const REASONS = [{
  name: "tracking_pixel",
  means: "at most 2x2 pixels: no icon (convert.rs)",
  told: ({ ours, theirs }) => ours.kind === "image_too_small" ||
    (!ours.shown && theirs.shown && Math.max(theirs.width, theirs.height) <= 2),
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
  name: "bmp_os2_runs",
  means: "run lengths of 24 bits, which only OS/2 wrote, are refused (decoders/dib.rs)",
  told: ({ kind, bytes, ours }) => kind === "bmp" && !ours.shown && bytes.length > 34 &&
    bytes.readUInt32LE(14) === 64 && bytes.readUInt32LE(30) === 4,
}, {
  name: "raster_damaged",
  means: "ours shows what there is of a damaged raster, of which Chromium shows nothing: by what " +
    "img.decode() says; of formats whose header cannot make all pixels transparent, always",
  told: ({ kind, theirs, ours }) => kind !== "svg" && ours.shown && !theirs.shown &&
    (!theirs.decoded || ["avif", "bmp", "gif", "ico"].includes(kind)),
}, {
  name: "avif_unsupported",
  means: "an AVIF of a kind that hardly exists is refused (decision 0137)",
  told: ({ ours }) => ours.kind === "avif_unsupported",
}, {
  name: "avif_opacity",
  means: "Chromium takes the opacity of an AVIF for one of a limited range, though the file says " +
    "that it is full; ours and libavif do not",
  // On black, colours that are multiplied by alpha do not change.
  told: (row) => isAvif(row) && Math.min(row.limitedOpacity, row.onBlack) <= NEAR,
}, {
  name: "avif_sequence",
  means: "of an AVIF sequence ours shows the primary picture, Chromium the first one of the " +
    "animation, whose full range it takes for a limited one",
  told: (row) => isAvif(row) && text(row).slice(8, 12) === "avis",
}, {
  name: "svg_bytes",
  means: "an SVG of more than 512 KiB is refused (MAX_SVG_BYTES)",
  told: ({ ours }) => /^svg refused: more than \d+ KiB$/.test(ours.reason),
}, {
  name: "svg_blend",
  means: "color-dodge and color-burn are refused: what draws them differs by processor (0096)",
  told: ({ ours }) => /^svg refused: blend mode color-(dodge|burn)$/.test(ours.reason),
}, {
  name: "svg_glyphs",
  means: "text with characters that the bundled font lacks is refused (0096)",
  told: ({ ours }) => ours.reason === "svg refused: text that the font lacks",
}, {
  name: "svg_text",
  means: "ours draws text in one bundled font, Chromium in what the machine has " +
    "(decoders/svg_font.rs)",
  told: (row) => isSvg(row) && row.ours.kind === null && /<text[\s>]/.test(text(row)),
}, {
  name: "svg_animation",
  means: "of an SVG that moves Chromium shows the moment at which it is drawn, ours the " +
    "beginning: where that is nothing Chromium shows hardly more, else Chromium's own two " +
    "drawings differ too",
  told: (row) => isSvg(row) && /<(animate\w*|set)[\s>]|@keyframes/.test(text(row)) &&
    (row.ours.kind === "image_blank" ? row.distance <= FAR :
      row.ours.shown && row.distance <= OWN_ERRORS * row.ownError),
}, {
  name: "svg_no_ratio",
  means: "an SVG without a viewBox and with a side missing or in percent has no ratio: Chromium " +
    "shows as much of it as there is room, ours the size that it has by itself (svg_viewports.rs)",
  told: (row) => isSvg(row) && row.ours.shown && hasNoRatio(text(row)),
}, {
  name: "svg_edges",
  means: "edges are smoothed otherwise: ours is from Chromium's at most three times as far as " +
    "Chromium's own, drawn 8 times as large and averaged",
  told: (row) => isSvg(row) && row.distance <= Math.min(OWN_ERRORS * row.ownError, MOST_EDGES),
}, {
  name: "raster_filter",
  means: "Chromium's pixels of natural sides are ours; those in 32x32 differ since ours is a " +
    "sharper filter in linear light (scale.rs)",
  told: (row) => !isSvg(row) && row.decoding <= NEAR,
}];

/** Returns the name of the reason for this difference, or null. */
export function reasonOf(row) {
  return REASONS.find(({ told }) => told(row))?.name ?? null;
}
