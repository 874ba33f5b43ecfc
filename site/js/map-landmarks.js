// This module draws the best-ranked sites larger than their cells, with names, while cells are
// small. Where two landmarks would overlap, the worse-ranked one is omitted. A landmark that a
// control would cover is not drawn. Apart from that, only the scale and the canvas's width decide
// which landmarks are drawn, so dragging does not make any appear or disappear within the view.

import { fetchFile, hostnameOf, readIcon } from "./bundles.js";
import { shownHost } from "./host-name.js";
import { cellOf, toScreen } from "./map-geometry.js";
import { shortenedHost } from "./picture-text.js";
import { linesFrom, withoutWww } from "./search-keys.js";

/** Must be MAP_LANDMARKS_PATH in bundler/src/object_names.rs. */
const PATH = "map/landmarks.tsv";
const MAX_LANDMARKS = 256;
/** Landmarks fade out as the cell size grows between these two values, in CSS pixels. */
const FADE_PX = [16, 18];
/** On a narrower canvas, in CSS pixels, all landmarks are small. */
const WIDE_FROM_PX = 600;
/** Sizes in CSS pixels. Names wider than `name` are shortened. */
const LARGE = { icon: 32, border: 3, label: 20, font: 13, name: 132 };
const SMALL = { icon: 24, border: 3, label: 18, font: 12, name: 120 };
const LARGE_ONES = 32;
const LABEL_GAP_PX = 2;
const LABEL_PADDING_PX = 7;
const GAP_PX = { x: 12, y: 10 };
/**
 * Within this share of the world's width from its left or right edge, labels extend towards the
 * middle.
 */
const EDGE_PART = 0.2;
/** A picture takes up to 0.2 MB at two device pixels per CSS pixel. */
const MAX_PICTURES = 80;
const MAX_LISTED = 40;

/**
 * Resolves to [{bundle, slot, host, title, icon}], best rank first, or to [] if the file cannot be
 * fetched. `title` is the displayed hostname.
 */
export async function loadLandmarks({ prefix, bundles }, { grid }) {
  const { value = "" } = await fetchFile(prefix + PATH, {
    // The tiles are more important.
    fetcher: (url, options) => fetch(url, { ...options, priority: "low" }),
    read: (file) => file.text(),
  });
  return readLandmarks(value, bundles, grid ** 2);
}

/** Skips landmarks whose bundle or slot does not exist, or whose hostname or icon is invalid. */
export function readLandmarks(text, bundles, slots) {
  const isPlace = (number, end) => Number.isInteger(number) && number >= 0 && number < end;
  return linesFrom(text, "", MAX_LANDMARKS)
    .map(({ host, bundle, slot, title: icon }) => ({
      bundle, slot, host: hostnameOf(host), title: shownHost(withoutWww(host)),
      icon: readIcon(icon),
    }))
    .filter(({ host, icon, bundle, slot }) =>
      host !== "" && icon !== "" && isPlace(bundle, bundles) && isPlace(slot, slots));
}

/**
 * Returns a landmark's size, its plate's side, and its box {left, top, right, bottom} relative to
 * the middle of its cell, in CSS pixels. `at` is the landmark's index, best rank first. `part` is
 * the cell's horizontal position, from 0 at the world's left edge to 1 at its right edge.
 */
export function boxOf(nameWidth, at, part, isWide) {
  const size = isWide && at < LARGE_ONES ? LARGE : SMALL;
  const plate = size.icon + 2 * size.border;
  const label = Math.max(plate, Math.min(size.name, nameWidth) + 2 * LABEL_PADDING_PX);
  const left = part < EDGE_PART ? -plate / 2
    : part > 1 - EDGE_PART ? plate / 2 - label : -label / 2;
  const bottom = plate / 2 + LABEL_GAP_PX + size.label;
  return { size, plate, left, top: -plate / 2, right: left + label, bottom };
}

/**
 * Returns the scale from which each landmark is drawn: from there on it touches no better-ranked
 * landmark, and the world's edges do not cut it. `landmarks` are {x, y, box}, best rank first, with
 * x and y in cells and the box in CSS pixels.
 */
export function scalesOf(landmarks, { width, height }) {
  return landmarks.map(({ x, y, box }, i) => {
    let from = Math.max(-box.left / x, box.right / (width - x), -box.top / y,
      box.bottom / (height - y));
    for (const other of landmarks.slice(0, i)) {
      const beside = apart(other.x - x, box.right - other.box.left, other.box.right - box.left,
        GAP_PX.x);
      const below = apart(other.y - y, box.bottom - other.box.top, other.box.bottom - box.top,
        GAP_PX.y);
      from = Math.max(from, Math.min(beside, below));
    }
    return from;
  });
}

/**
 * Returns the scale at which two intervals are `gap` pixels apart. Their origins are `cells` apart.
 * For the intervals to touch, this distance must be `after` pixels if `cells` is positive,
 * otherwise `before` pixels.
 */
function apart(cells, after, before, gap) {
  if (cells === 0) return Infinity;
  return cells > 0 ? (after + gap) / cells : (before + gap) / -cells;
}

/** The landmarks on one canvas. */
export class Landmarks {
  #world;
  #look;
  #onChange;
  #images = new Map();
  /** The least recently drawn landmark is first. */
  #pictures = new Map();
  #isWide = null;
  #style = null;
  /** {entry, x, y, box, from}, best first. */
  #all = [];
  covered = [];

  /**
   * `look()` returns the style {plate, ground, ink, accent, font}; `onChange` is called when an
   * icon has been decoded.
   */
  constructor(entries, world, { look, onChange }) {
    this.entries = entries;
    this.#world = world;
    this.#look = look;
    this.#onChange = onChange;
  }

  restyle() {
    this.#style = null;
    this.#pictures.clear();
  }

  /** Draws the landmarks and marks the one at cell `lit`. Returns true if that one was drawn. */
  paint(context, { view, size, ratio, lit }) {
    const alpha = alphaAt(view.scale);
    if (alpha === 0) return false;
    let isLit = false;
    context.globalAlpha = alpha;
    for (const one of this.#drawn(view, size)) {
      const { x, y } = toScreen(view, size, one);
      const picture = this.#pictureOf(one, ratio);
      const [left, top] = [x + one.box.left - MARGIN_PX, y + one.box.top - MARGIN_PX];
      context.drawImage(picture, Math.round(left * ratio), Math.round(top * ratio));
      if (!isSame(one.entry, lit)) continue;
      isLit = true;
      this.#mark(context, one, { x: x * ratio, y: y * ratio }, ratio);
    }
    context.globalAlpha = 1;
    return isLit;
  }

  at(point, view, size) {
    if (alphaAt(view.scale) < 0.5) return null;
    for (const one of this.#drawn(view, size)) {
      const { x, y } = toScreen(view, size, one);
      const { left, top, right, bottom } = one.box;
      const isIn = point.x >= x + left && point.x < x + right && point.y >= y + top &&
        point.y < y + bottom;
      if (isIn) return one.entry;
    }
    return null;
  }

  /**
   * Returns the box {x, y, side, height} of the landmark at `cell`, in CSS pixels, where `side` is
   * the width. Returns null if the landmark is not drawn or mostly faded out.
   */
  boxAt(cell, view, size) {
    if (alphaAt(view.scale) < 0.5) return null;
    const one = this.#drawn(view, size).find(({ entry }) => isSame(entry, cell));
    if (!one) return null;
    const { x, y } = toScreen(view, size, one);
    const { left, top, right, bottom } = one.box;
    return { x: x + left, y: y + top, side: right - left, height: bottom - top };
  }

  /** Returns up to 40 landmarks whose cells are in view, best rank first. */
  inView(view, size) {
    this.#place(size);
    const isIn = (one) => {
      const { x, y } = toScreen(view, size, one);
      return x >= 0 && y >= 0 && x < size.width && y < size.height;
    };
    return this.#all.filter(isIn).slice(0, MAX_LISTED).map(({ entry }) => entry);
  }

  #drawn(view, size) {
    this.#place(size);
    return this.#all.filter((one) => {
      if (one.from > view.scale) return false;
      const { x, y } = toScreen(view, size, one);
      const { left, top, right, bottom } = one.box;
      const isIn = (box) => x + right > box.left && x + left < box.right &&
        y + bottom > box.top && y + top < box.bottom;
      return isIn({ left: 0, top: 0, right: size.width, bottom: size.height }) &&
        !this.covered.some(isIn);
    });
  }

  #place({ width }) {
    const isWide = width >= WIDE_FROM_PX;
    this.#style ??= this.#look();
    if (isWide === this.#isWide) return;
    this.#isWide = isWide;
    this.#pictures.clear();
    const context = new OffscreenCanvas(1, 1).getContext("2d");
    const all = this.entries.map((entry, at) => {
      const { x, y } = cellOf(this.#world, entry.bundle, entry.slot);
      const { size } = boxOf(0, at, 0.5, isWide);
      context.font = fontOf(size, this.#style);
      const nameWidth = Math.ceil(context.measureText(entry.title).width);
      const box = boxOf(nameWidth, at, (x + 0.5) / this.#world.width, isWide);
      return { entry, x: x + 0.5, y: y + 0.5, box };
    });
    const scales = scalesOf(all, this.#world);
    this.#all = all.map((one, i) => ({ ...one, from: scales[i] }));
  }

  #pictureOf(one, ratio) {
    const { entry } = one;
    const known = this.#pictures.get(entry);
    this.#pictures.delete(entry);
    const picture = known?.ratio === ratio ? known
      : { ratio, canvas: draw(one, this.#imageOf(entry), this.#style, ratio) };
    this.#pictures.set(entry, picture);
    if (this.#pictures.size > MAX_PICTURES) {
      this.#pictures.delete(this.#pictures.keys().next().value);
    }
    return picture.canvas;
  }

  #imageOf(entry) {
    if (!this.#images.has(entry)) {
      const image = new Image();
      image.src = entry.icon;
      this.#images.set(entry, null);
      image.decode().then(() => {
        this.#images.set(entry, image);
        this.#pictures.delete(entry);
        this.#onChange();
      }, () => {});
    }
    return this.#images.get(entry);
  }

  #mark(context, { box }, { x, y }, ratio) {
    const side = (box.plate + 2) * ratio;
    context.strokeStyle = this.#style.accent;
    context.lineWidth = 3 * ratio;
    context.beginPath();
    context.roundRect(x - side / 2, y - side / 2, side, side, side / 4);
    context.stroke();
  }
}

/** Room for the shadow, in CSS pixels. */
const MARGIN_PX = 6;

function draw({ entry, box }, image, style, ratio) {
  const { size, plate } = box;
  const [width, height] = [box.right - box.left, box.bottom - box.top]
    .map((px) => Math.ceil((px + 2 * MARGIN_PX) * ratio));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const x = MARGIN_PX - box.left - plate / 2;
  const fill = (...rect) => {
    context.beginPath();
    context.roundRect(...rect);
    context.fill();
  };
  Object.assign(context, { shadowColor: "#0007", shadowBlur: 5 * ratio, shadowOffsetY: ratio });
  context.fillStyle = style.plate;
  fill(x, MARGIN_PX, plate, plate, plate / 4);
  const top = MARGIN_PX + plate + LABEL_GAP_PX;
  fill(MARGIN_PX, top, box.right - box.left, size.label, size.label / 2);
  context.shadowColor = "transparent";
  context.fillStyle = style.ground;
  const inner = plate - size.border;
  fill(x + size.border / 2, MARGIN_PX + size.border / 2, inner, inner, plate / 4 - 1);
  if (image) {
    // Without smoothing, an icon that is enlarged by an integer factor stays sharp.
    context.imageSmoothingEnabled = image.width > size.icon || image.width < size.icon &&
      size.icon % image.width !== 0;
    context.imageSmoothingQuality = "high";
    context.drawImage(image, x + size.border, MARGIN_PX + size.border, size.icon, size.icon);
  }
  context.fillStyle = style.ink;
  context.font = fontOf(size, style);
  context.textAlign = "center";
  context.textBaseline = "middle";
  const name = shortenedHost(entry.title, (text) => context.measureText(text).width <= size.name);
  context.fillText(name, MARGIN_PX + (box.right - box.left) / 2, top + size.label / 2 + 0.5);
  return canvas;
}

function fontOf(size, { font }) {
  return `600 ${size.font}px ${font}`;
}

/** Returns the landmarks' opacity at a scale, from 0 to 1. */
export function alphaAt(scale) {
  const [from, to] = FADE_PX;
  return Math.min(1, Math.max(0, (to - scale) / (to - from)));
}

function isSame(entry, cell) {
  return cell !== null && entry.bundle === cell.bundle && entry.slot === cell.slot;
}
