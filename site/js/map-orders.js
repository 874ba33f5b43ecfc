// This module shows the map in another order, on a second canvas that replaces the first. The
// canvas that is shown takes over the focus.

import { fetchFile } from "./bundles.js";
import { toScreen } from "./map-geometry.js";
import {
  areaAt, labelsFor, mapOfOrder, placesFile, readOrder, rowsOf, tabInPlaces,
} from "./map-order-format.js";
import { MapView } from "./map-view.js";
import { areaLabel, inOrderWords } from "./map-words.js";
import { ORDERS } from "./strings.js";

const MAX_LISTED = 100;
const LABEL_FONT_PX = 13;
const LABEL_PX = 20;
const LABEL_PADDING_PX = 7;
const CURSOR_PX = 7;

/** Shows at most one order at a time. */
export class MapOrders {
  #canvas;
  #list;
  #manifest;
  #format;
  #callbacks;
  /** {name, index, map, canvas}, or null. */
  #shown = null;

  /**
   * `list` is the element for the areas, and `callbacks` are those of `MapView`. In an order,
   * `onTap` gets the place as {bundle: place, slot: 0}.
   */
  constructor(canvas, list, manifest, format, callbacks) {
    this.#canvas = canvas;
    this.#list = list;
    this.#manifest = manifest;
    this.#format = format;
    this.#callbacks = callbacks;
    list.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (button) this.#flyTo(Number(button.value));
    });
  }

  get canvas() {
    return this.#shown?.canvas ?? this.#canvas;
  }

  /** Resolves to the order's index, or to null if it cannot be loaded. */
  async load(name) {
    const { prefix } = this.#manifest;
    const { value } = await fetchFile(prefix + this.#format.orders.get(name));
    return readOrder(value);
  }

  show(name, index) {
    if (this.#shown?.name === name) return this.#shown.map;
    const hadFocus = document.activeElement === this.canvas;
    this.hide();
    const canvas = this.#canvas.cloneNode();
    canvas.id = "order-map";
    canvas.className = "";
    canvas.setAttribute("aria-label", ORDERS.map(ORDERS.names[name]));
    this.#canvas.after(canvas);
    if (hadFocus) canvas.focus({ preventScroll: true });
    this.#canvas.classList.add("away");
    const { onFrame, ...callbacks } = this.#callbacks;
    const manifest = { ...this.#manifest, bundles: index.tabs };
    const shown = { name, index, canvas, map: null };
    shown.map = new MapView(canvas, manifest, mapOfOrder(this.#format, name, index), {
      ...callbacks,
      onFrame: () => {
        if (shown.map && shown === this.#shown) this.#paintLabels(shown);
        onFrame();
      },
    });
    this.#shown = shown;
    canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      const area = this.#areaUnder(shown.map.motion.worldAt({ x: offsetX, y: offsetY }));
      const title = area ? areaLabel(name, area.name) : "";
      if (canvas.title !== title) canvas.title = title;
    });
    this.#listAreas(shown);
    return shown.map;
  }

  hide() {
    if (!this.#shown) return;
    const hadFocus = document.activeElement === this.canvas;
    this.#shown.map.release();
    this.#shown.canvas.remove();
    this.#shown = null;
    this.#canvas.classList.remove("away");
    if (hadFocus) this.#canvas.focus({ preventScroll: true });
    this.#list.hidden = true;
    this.#list.replaceChildren();
  }

  /** Resolves to the {bundle, slot} at a place, or to null if it cannot be loaded. */
  async tabAt(place) {
    const { name, index } = this.#shown;
    const file = placesFile(name, index, place);
    const { value } = await fetchFile(this.#manifest.prefix + file.path, {
      read: (response) => response.arrayBuffer(),
    });
    const { bundles } = this.#manifest;
    return value ? tabInPlaces(new Uint8Array(value), file.index, this.#format, bundles) : null;
  }

  get words() {
    const { name, map } = this.#shown;
    const { hosts } = this.#manifest;
    const seen = map.motion.isWhole ? hosts : map.tabsInView;
    return inOrderWords(name, seen, hosts, this.#areaUnder(map.motion.view));
  }

  #areaUnder({ x, y }) {
    const { index } = this.#shown;
    const width = this.#width;
    const isInside = x >= 0 && x < width && y >= 0;
    return isInside ? areaAt(index, Math.floor(y) * width + Math.floor(x)) : undefined;
  }

  get #width() {
    return this.#format.side * this.#format.grid;
  }

  #flyTo(number) {
    const { index, map } = this.#shown;
    const { top, bottom } = rowsOf(index.areas[number], this.#width);
    const { width, height } = map.motion.size;
    // Fit the area's height, but do not zoom in on fewer than 40 columns.
    const scale = Math.max(width / this.#width, Math.min(height / (bottom - top), width / 40));
    map.motion.flyTo({ x: this.#width / 2, y: (top + bottom) / 2, scale }, performance.now());
    map.requestFrame();
  }

  #listAreas({ name, index }) {
    const all = [...index.areas.entries()];
    const listed = all.sort(([, a], [, b]) => b.tabs - a.tabs).slice(0, MAX_LISTED)
      .sort(([a], [b]) => a - b);
    this.#list.replaceChildren(...listed.map(([number, area]) => {
      const [entry, button] = [document.createElement("li"), document.createElement("button")];
      const count = document.createElement("small");
      button.type = "button";
      button.value = number;
      button.textContent = areaLabel(name, area.name);
      count.textContent = ORDERS.tabs(area.tabs);
      button.append(count);
      entry.append(button);
      return entry;
    }));
    this.#list.hidden = false;
  }

  #paintLabels({ name, index, canvas, map }) {
    const context = canvas.getContext("2d", { alpha: false });
    const { view, size } = map.motion;
    const ratio = canvas.width / size.width;
    context.save();
    context.scale(ratio, ratio);
    context.font = `600 ${LABEL_FONT_PX}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    for (const { area, right, y } of labelsFor(index, this.#width, view, size)) {
      const text = areaLabel(name, area.name);
      const width = context.measureText(text).width + 2 * LABEL_PADDING_PX;
      const x = right - width;
      context.fillStyle = "#000b";
      context.beginPath();
      context.roundRect(x, y - LABEL_PX / 2, width, LABEL_PX, LABEL_PX / 2);
      context.fill();
      context.fillStyle = "#fff";
      context.fillText(text, x + LABEL_PADDING_PX, y + 0.5);
    }
    if (canvas.matches(":focus-visible")) paintCursor(context, toScreen(view, size, view));
    context.restore();
  }
}

function paintCursor(context, { x, y }) {
  for (const [colour, width] of [["#000", 3], ["#fff", 1]]) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.arc(x, y, CURSOR_PX, 0, 2 * Math.PI);
    context.stroke();
  }
}
