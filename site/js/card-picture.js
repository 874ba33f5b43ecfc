// This module draws the pictures that visitors save, in the page's colours, light or dark. It uses
// only images from the page's own data, because images from other origins would make the canvas
// unreadable.

import { directionOf, hostLinesOf, linesOf, sizeThatFits } from "./picture-text.js";

/** The size of preview.png. */
const WIDTH_PX = 1_200;
const HEIGHT_PX = 630;
const STRIP_PX = 84;
/** A tab has room for about 17 characters. */
const TAB_PX = 270;
const TAB_ICON_PX = 32;
const MARGIN_PX = 48;
const PORTRAIT_PX = 448;
/** 12 times 32 pixels, or 24 times 16 pixels. */
const LARGE_ICON_PX = 384;
const PORTRAIT_TOP_PX = STRIP_PX + MARGIN_PX;
const TEXT_LEFT_PX = 2 * MARGIN_PX + PORTRAIT_PX;
const TEXT_PX = WIDTH_PX - MARGIN_PX - TEXT_LEFT_PX;
const LINE_HEIGHT = 1.25;
const MOSAIC_SIDE = 5;
const MOSAIC_ICON_PX = 64;
const MOSAIC_INSET_PX = 24;
const FOOTER_PX = 28;
/** A download may start late, so the picture is kept for this long. */
const KEEP_MS = 60_000;
const COLOURS = {
  strip: "hsl(var(--hue) var(--tint) var(--level))", panel: "var(--toolbar)", ink: "var(--ink)",
  tabInk: "var(--tab-ink)", soft: "var(--soft)", field: "var(--field)", accent: "var(--accent)",
};
const MARK = "M2.5 14V9a2 2 0 0 1 2-2h7a2 2 0 0 1 2 2v5z";

/**
 * Resolves to a PNG as a Blob. `tabs` are {icon, name, isActive, isHost}; only the active one shows
 * its name. `icons` are data URLs: one is enlarged, several make a mosaic, and without any the
 * `letter` is drawn. `lines` are {text, sizes, maxLines, gapPx, isBold, isSoft, isQuote, isHost};
 * `sizes` are font sizes in pixels, in descending order.
 */
export async function drawPicture({ tabs, icons, letter, lines, footer }) {
  const canvas = Object.assign(document.createElement("canvas"),
    { width: WIDTH_PX, height: HEIGHT_PX });
  const context = canvas.getContext("2d");
  const font = getComputedStyle(document.body).fontFamily;
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const pen = { context, colours: pageColours(), font, isDark };
  const images = new Map();
  const sources = new Set([...tabs.map(({ icon }) => icon), ...icons].filter(Boolean));
  await Promise.all([...sources].map(async (source) => images.set(source, await load(source))));
  fill(pen, "strip", 0, 0, WIDTH_PX, HEIGHT_PX);
  fill(pen, "panel", 0, STRIP_PX, WIDTH_PX, HEIGHT_PX - STRIP_PX);
  drawStrip(pen, tabs, images);
  drawPortrait(pen, icons.map((icon) => images.get(icon)).filter(Boolean), letter);
  drawLines(pen, lines);
  drawFooter(pen, footer);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png");
  });
}

/** Downloads a picture as a file. */
export function savePicture(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), KEEP_MS);
}

/** Returns the page's colours in a form that the canvas understands. */
function pageColours() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const colours = {};
  for (const [name, value] of Object.entries(COLOURS)) {
    probe.style.color = value;
    colours[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return colours;
}

async function load(source) {
  const image = new Image();
  image.src = source;
  try {
    await image.decode();
    return image;
  } catch {
    return null;
  }
}

function fill({ context, colours }, colour, x, y, width, height, radii = 0) {
  context.fillStyle = colours[colour];
  context.beginPath();
  context.roundRect(x, y, width, height, radii);
  context.fill();
}

function setFont({ context, font }, sizePx, isBold) {
  context.font = `${isBold ? "700" : "400"} ${sizePx}px ${font}`;
}

/**
 * Enlarges a small icon by an integer factor, so that its pixels are sharp, and shrinks a large
 * one.
 */
function drawIcon({ context, isDark }, image, x, y, sidePx) {
  const { naturalWidth, naturalHeight } = image;
  const longest = Math.max(naturalWidth, naturalHeight);
  const times = longest <= sidePx ? Math.floor(sidePx / longest) : sidePx / longest;
  const [width, height] = [naturalWidth * times, naturalHeight * times];
  context.imageSmoothingEnabled = times < 1;
  // Many icons are black on transparent, so on a dark background a thin glow shows their outline.
  context.shadowColor = isDark ? "#fff9" : "#0000";
  context.shadowBlur = isDark ? 6 : 0;
  context.drawImage(image, Math.round(x + (sidePx - width) / 2),
    Math.round(y + (sidePx - height) / 2), Math.round(width), Math.round(height));
  context.shadowColor = "#0000";
}

function drawStrip(pen, tabs, images) {
  const { context, colours } = pen;
  const active = tabs.findIndex(({ isActive }) => isActive);
  tabs.forEach(({ icon, name, isActive, isHost }, at) => {
    const x = TEXT_LEFT_PX - 24 + (at - active) * TAB_PX;
    if (isActive) fill(pen, "panel", x, 14, TAB_PX, STRIP_PX - 14, [16, 16, 0, 0]);
    const image = images.get(icon);
    const iconLeft = x + 20;
    const top = 14 + (STRIP_PX - 14 - TAB_ICON_PX) / 2;
    if (image) drawIcon(pen, image, iconLeft, top, TAB_ICON_PX);
    const textLeft = image ? iconLeft + TAB_ICON_PX + 12 : iconLeft;
    const room = x + TAB_PX - 20 - textLeft;
    if (!isActive) {
      context.globalAlpha = 0.2;
      fill(pen, "tabInk", textLeft, STRIP_PX / 2 + 1, room, 12, 6);
      context.globalAlpha = 1;
      return;
    }
    setFont(pen, 22, false);
    context.fillStyle = colours.ink;
    context.textAlign = "left";
    context.direction = directionOf(name);
    context.textBaseline = "middle";
    const fit = isHost ? hostLinesOf : linesOf;
    const [line] = fit(name, room, 1, (text) => context.measureText(text).width);
    context.fillText(line, textLeft, 14 + (STRIP_PX - 14) / 2);
  });
}

function drawPortrait(pen, images, letter) {
  const { context, colours } = pen;
  const [x, y] = [MARGIN_PX, PORTRAIT_TOP_PX];
  fill(pen, "field", x, y, PORTRAIT_PX, PORTRAIT_PX, 32);
  if (images.length === 1) {
    const inset = (PORTRAIT_PX - LARGE_ICON_PX) / 2;
    drawIcon(pen, images[0], x + inset, y + inset, LARGE_ICON_PX);
    return;
  }
  if (images.length > 1) {
    const cellPx = (PORTRAIT_PX - 2 * MOSAIC_INSET_PX) / MOSAIC_SIDE;
    const inset = (cellPx - MOSAIC_ICON_PX) / 2;
    images.slice(0, MOSAIC_SIDE ** 2).forEach((image, at) => {
      const left = x + MOSAIC_INSET_PX + (at % MOSAIC_SIDE) * cellPx + inset;
      const top = y + MOSAIC_INSET_PX + Math.floor(at / MOSAIC_SIDE) * cellPx + inset;
      drawIcon(pen, image, left, top, MOSAIC_ICON_PX);
    });
    return;
  }
  setFont(pen, 256, true);
  context.fillStyle = colours.soft;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(letter, x + PORTRAIT_PX / 2, y + PORTRAIT_PX / 2);
}

function drawLines(pen, lines) {
  const { context, colours } = pen;
  const blocks = lines.map(({ text, sizes, maxLines = 1, gapPx = 0, isBold = false, ...look }) => {
    const measure = (part, size) => {
      setFont(pen, size, isBold);
      return context.measureText(part).width;
    };
    const room = look.isQuote ? TEXT_PX - 24 : TEXT_PX;
    const size = sizeThatFits(text, sizes, room, measure) ?? sizes.at(-1);
    const fit = look.isHost ? hostLinesOf : linesOf;
    const parts = fit(text, room, maxLines, (part) => measure(part, size));
    return { parts, size, isBold, gapPx, heightPx: parts.length * size * LINE_HEIGHT, ...look };
  });
  const heightPx = blocks.reduce((sum, block) => sum + block.gapPx + block.heightPx, 0);
  const footerTop = HEIGHT_PX - MARGIN_PX - FOOTER_PX;
  let top = PORTRAIT_TOP_PX + Math.max(0, (footerTop - 16 - PORTRAIT_TOP_PX - heightPx) / 2);
  for (const { parts, size, isBold, isSoft, isQuote, gapPx, heightPx: ownPx } of blocks) {
    top += gapPx;
    const isRtl = directionOf(parts[0]) === "rtl" && isQuote;
    if (isQuote) {
      const barLeft = isRtl ? TEXT_LEFT_PX + TEXT_PX - 6 : TEXT_LEFT_PX;
      fill(pen, "accent", barLeft, top, 6, ownPx);
    }
    setFont(pen, size, isBold);
    context.fillStyle = isSoft ? colours.soft : colours.ink;
    context.textBaseline = "middle";
    context.direction = isRtl ? "rtl" : "ltr";
    context.textAlign = isRtl ? "right" : "left";
    const indent = isQuote ? 24 : 0;
    const x = isRtl ? TEXT_LEFT_PX + TEXT_PX - indent : TEXT_LEFT_PX + indent;
    parts.forEach((part, at) => context.fillText(part, x, top + (at + 0.5) * size * LINE_HEIGHT));
    top += ownPx;
  }
}

function drawFooter(pen, text) {
  const { context, colours } = pen;
  const top = HEIGHT_PX - MARGIN_PX - FOOTER_PX;
  context.save();
  context.translate(TEXT_LEFT_PX, top);
  context.scale(FOOTER_PX / 16, FOOTER_PX / 16);
  context.fillStyle = "#1a73e8";
  context.beginPath();
  context.roundRect(0, 2, 16, 12, 3);
  context.fill();
  context.fillStyle = "#fff";
  context.fill(new Path2D(MARK));
  context.restore();
  setFont(pen, 24, false);
  context.fillStyle = colours.soft;
  context.textAlign = "left";
  context.direction = "ltr";
  context.textBaseline = "middle";
  const left = TEXT_LEFT_PX + FOOTER_PX + 14;
  const room = WIDTH_PX - MARGIN_PX - left;
  const [line] = linesOf(text, room, 1, (part) => context.measureText(part).width);
  context.fillText(line, left, top + FOOTER_PX / 2);
}
