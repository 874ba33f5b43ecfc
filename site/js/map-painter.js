// This module paints the map's canvas. Edges lie on device pixels, so that no seams are visible. A
// missing tile is drawn from the finest coarser tile that is loaded.

import { toScreen, tileSpan } from "./map-geometry.js";
import { bundleKey, coarser, tileKey } from "./map-plan.js";

/** Pictures that are enlarged at least this many times are drawn without smoothing. */
const PIXELATED_FROM = 1.5;
/**
 * Below this factor, pictures are drawn with better smoothing, which takes several times longer.
 */
const AVERAGED_BELOW = 0.5;
const MIN_MARK_PX = 20;

/** Paints one world on one canvas. */
export class MapPainter {
  #canvas;
  #context;
  #world;
  #background;
  #ratio = 1;
  #accent = "";
  #around = "";

  constructor(canvas, world, background) {
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d", { alpha: false });
    this.#world = world;
    this.#background = background;
  }

  /** Sets the size, in CSS pixels, and reads the colours from the style again. */
  resize(size, ratio) {
    this.#ratio = ratio;
    this.#canvas.width = Math.round(size.width * ratio);
    this.#canvas.height = Math.round(size.height * ratio);
    const { color, backgroundColor } = getComputedStyle(this.#canvas);
    this.#accent = color;
    this.#around = backgroundColor;
  }

  /**
   * `plan` is from `planOf`, `get(key)` returns items in memory; `lit` and `cursor` are cells or
   * null; `landmarks(context)` returns true if it marked `lit`.
   */
  paint({ view, size, plan, get, lit, cursor, landmarks }) {
    const { width, height } = this.#canvas;
    const context = this.#context;
    context.fillStyle = this.#around;
    context.fillRect(0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(...this.#box(view, size, 0, 0, this.#world.width, this.#world.height));
    context.clip();
    context.fillStyle = this.#background;
    context.fillRect(0, 0, width, height);
    const sheets = plan.bundles.map((bundle) => ({ bundle, sheet: get(bundleKey(bundle)) }));
    const isFull = sheets.length > 0 && sheets.every(({ sheet }) => sheet);
    if (!isFull) for (const tile of plan.tiles) this.#paintTile(view, size, tile, get);
    for (const { bundle, sheet } of sheets) if (sheet) this.#paintSheet(view, size, bundle, sheet);
    context.restore();
    const isMarked = landmarks(context);
    if (cursor) this.#mark(view, size, cursor, 1);
    if (lit && !isMarked) this.#mark(view, size, lit, 2);
  }

  #paintTile(view, size, tile, get) {
    for (let z = tile.z; z < this.#world.levels; z += 1) {
      const shown = coarser(tile, z);
      const bitmap = get(tileKey(shown));
      if (!bitmap) continue;
      const parts = 2 ** (z - tile.z);
      const side = bitmap.width / parts;
      const span = tileSpan(this.#world, tile.z);
      this.#draw(bitmap, [(tile.x - shown.x * parts) * side, (tile.y - shown.y * parts) * side,
        side, side], this.#box(view, size, tile.x * span, tile.y * span, span, span));
      return;
    }
  }

  #paintSheet(view, size, bundle, { canvas }) {
    const { side, grid } = this.#world;
    const [x, y] = [(bundle % side) * grid, Math.floor(bundle / side) * grid];
    const source = [0, 0, canvas.width, canvas.height];
    this.#draw(canvas, source, this.#box(view, size, x, y, grid, grid));
  }

  #draw(picture, source, box) {
    this.#context.imageSmoothingEnabled = box[2] < source[2] * PIXELATED_FROM;
    this.#context.imageSmoothingQuality = box[2] < source[2] * AVERAGED_BELOW ? "medium" : "low";
    this.#context.drawImage(picture, ...source, ...box);
  }

  /** Returns [x, y, width, height] in whole device pixels. */
  #box(view, size, x, y, width, height) {
    const start = toScreen(view, size, { x, y });
    const end = toScreen(view, size, { x: x + width, y: y + height });
    const [left, top] = [start.x, start.y].map((px) => Math.round(px * this.#ratio));
    const [right, bottom] = [end.x, end.y].map((px) => Math.round(px * this.#ratio));
    return [left, top, right - left, bottom - top];
  }

  #mark(view, size, cell, weight) {
    const middle = toScreen(view, size, { x: cell.x + 0.5, y: cell.y + 0.5 });
    const side = Math.max(MIN_MARK_PX, view.scale) * this.#ratio;
    const [x, y] = [middle.x * this.#ratio - side / 2, middle.y * this.#ratio - side / 2];
    const context = this.#context;
    for (const [colour, px] of [["#fff", 3 * weight], [this.#accent, 1.5 * weight]]) {
      context.strokeStyle = colour;
      context.lineWidth = px * this.#ratio;
      context.beginPath();
      context.roundRect(x, y, side, side, side / 8);
      context.stroke();
    }
  }
}
