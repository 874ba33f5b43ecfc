// This module shows the map by connecting gestures, motion, loader and painter. It writes the
// address only after the view has stopped.

import { readMapAddress, writeMapAddress } from "./map-address.js";
import { cellOf, tabAt, tabsInView, wholeView, worldOf } from "./map-geometry.js";
import { MapGestures } from "./map-gestures.js";
import { MapLoader } from "./map-loader.js";
import { MapMotion } from "./map-motion.js";
import { MapPainter } from "./map-painter.js";
import { pictureLoader } from "./map-pictures.js";
import { bundleKey, keysFor, keysForFlight, planOf } from "./map-plan.js";

/** A decoded tile takes 1.1 MB, and a bundle's sheet 0.9 MB. */
const MAX_BYTES_HELD = 96e6;
/**
 * The minimum time between two changes of the wanted items while the view moves, so that tiles that
 * are visible only briefly are not requested.
 */
const WANT_MS = 120;
const REST_MS = 300;
/** More device pixels per CSS pixel cost time and are hardly visible. */
const MAX_RATIO = 2;

/** One scan's map in one order. */
export class MapView {
  #canvas;
  #manifest;
  #background;
  #world;
  #painter;
  #loader;
  #plan;
  #isFrameRequested = false;
  #wantedAt = -Infinity;
  #wantTimer = 0;
  #restTimer = 0;
  /** The key of a bundle that is wanted although it may be out of view, or null. */
  #extra = null;
  #ratio = 1;
  #landmarks = null;
  #released = new AbortController();

  /** The order's name in the address, or "" for the default order. */
  order = "";
  /** The highlighted cell {bundle, slot}, or null. In an order, `bundle` is the place. */
  lit = null;
  /** The chosen tab {bundle, slot}, or null. */
  tab = null;
  site = "";
  /** If true, this map loads nothing and does not write the address. */
  isAway = false;

  /**
   * `onTap(entry, isKey)` gets {bundle, slot}, or a landmark, or null if there is no tab or a
   * second tap zooms. `onRest()` is called when the view has stopped.
   */
  constructor(canvas, manifest, map, { onTap, onFrame, onRest, onMove }) {
    this.#canvas = canvas;
    this.#manifest = manifest;
    this.#world = worldOf(map, manifest.bundles);
    Object.assign(this, { onFrame, onRest });
    this.#background = map.background;
    this.order = map.order ?? "";
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    this.motion = new MapMotion(this.#world, this.#size(), () => still.matches);
    this.#painter = new MapPainter(canvas, this.#world, map.background);
    this.#loader = new MapLoader({
      load: pictureLoader(manifest, map),
      onChange: () => this.requestFrame(),
      maxBytes: MAX_BYTES_HELD,
    });
    this.gestures = new MapGestures(canvas, this.#world, this.motion, {
      onTap: (point, isKey) =>
        onTap(point && (this.landmarkAt(point) ??
          tabAt(this.#world, this.motion.worldAt(point))), isKey),
      onChange: () => {
        onMove();
        this.requestFrame();
      },
    });
    const { signal } = this.#released;
    const observer = new ResizeObserver(() => this.#resize());
    observer.observe(canvas);
    signal.addEventListener("abort", () => observer.disconnect());
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", () => {
      this.#landmarks?.restyle();
      this.#resize();
    }, { signal });
    for (const name of ["focus", "blur"]) {
      canvas.addEventListener(name, () => this.requestFrame(), { signal });
    }
    this.#resize();
  }

  /** True if the last painted view is close enough to show icons from bundles. */
  get isNear() {
    return this.#plan.bundles.length > 0;
  }

  get trouble() {
    return this.#loader.trouble;
  }

  get isLoading() {
    return this.#loader.busy;
  }

  get isEmpty() {
    return this.#loader.bytes === 0;
  }

  /** The estimated number of tabs in view. */
  get tabsInView() {
    return tabsInView(this.#world, this.motion.view, this.motion.size, this.#manifest.hosts);
  }

  /** The highlighted cell's bundle if it is in view, otherwise the bundle in the middle, or -1. */
  get middleBundle() {
    const { size, view } = this.motion;
    const box = this.litBox;
    const isSeen = box && box.x + box.side > 0 && box.x < size.width && box.y + box.height > 0 &&
      box.y < size.height;
    return isSeen ? this.lit.bundle : tabAt(this.#world, view)?.bundle ?? -1;
  }

  tabsOf(bundle) {
    return this.#loader.get(bundleKey(bundle))?.tabs;
  }

  /** Returns why a bundle failed to load, or undefined if it did not fail. */
  troubleOf(bundle) {
    return this.#loader.troubleOf(bundleKey(bundle));
  }

  /**
   * Returns the tab at `point`, or undefined if icons are too small or its bundle is not in memory.
   */
  tabAtPoint(point) {
    const entry = this.isNear && tabAt(this.#world, this.motion.worldAt(point));
    return entry ? this.tabsOf(entry.bundle)?.get(entry.slot) : undefined;
  }

  landmarkAt(point) {
    return this.#landmarks?.at(point, this.motion.view, this.motion.size) ?? null;
  }

  get landmarksInView() {
    return this.#landmarks?.inView(this.motion.view, this.motion.size) ?? [];
  }

  async showLandmarks() {
    const { loadLandmarks, Landmarks } = await import("./map-landmarks.js");
    const entries = await loadLandmarks(this.#manifest, this.#world);
    if (entries.length === 0) return;
    this.#landmarks = new Landmarks(entries, this.#world, {
      look: () => this.#look(), onChange: () => this.requestFrame(),
    });
    this.#measureControls();
    this.requestFrame();
  }

  #measureControls() {
    if (!this.#landmarks) return;
    const { left, top } = this.#canvas.getBoundingClientRect();
    const controls = this.#canvas.parentElement.querySelectorAll(".orders, .zoom, .share-view");
    // A control that is not displayed has a box without a width.
    this.#landmarks.covered = [...controls].map((control) => control.getBoundingClientRect())
      .filter(({ width }) => width > 0)
      .map((box) => ({
        left: box.left - left, top: box.top - top,
        right: box.right - left, bottom: box.bottom - top,
      }));
  }

  #look() {
    const buttons = getComputedStyle(this.#canvas.parentElement.querySelector(".zoom"));
    return {
      plate: buttons.backgroundColor, ink: buttons.color, font: buttons.fontFamily,
      ground: this.#background, accent: getComputedStyle(this.#canvas).color,
    };
  }

  /** Loads a bundle although it may be out of view. -1 cancels this. */
  wantBundle(bundle) {
    this.#extra = bundle < 0 ? null : bundleKey(bundle);
    this.#want();
  }

  release() {
    this.isAway = true;
    this.#released.abort();
    this.#loader.release();
    clearTimeout(this.#wantTimer);
    clearTimeout(this.#restTimer);
    Object.assign(this.#canvas, { width: 0, height: 0 });
  }

  retry() {
    this.#loader.retry();
    this.requestFrame();
  }

  flyTo({ bundle, slot }, scale) {
    const { x, y } = cellOf(this.#world, bundle, slot);
    this.motion.flyTo({ x: x + 0.5, y: y + 0.5, scale }, performance.now());
    this.requestFrame();
  }

  moveByBundles(columns, rows) {
    const { x, y, scale } = this.motion.end;
    const { grid } = this.#world;
    this.motion.flyTo({ x: x + columns * grid, y: y + rows * grid, scale }, performance.now());
    this.requestFrame();
  }

  /** Shows the address's view unless it names a site. Returns the address's hostname, or "". */
  followAddress() {
    const { site, view } = readMapAddress(location.hash);
    this.site = site ?? "";
    if (!site) this.motion.jumpTo(view ?? wholeView(this.#world, this.motion.size));
    this.requestFrame();
    return this.site;
  }

  /**
   * The box {x, y, side, height} of the highlighted cell or landmark on the canvas, in CSS pixels,
   * or null. `side` is the width.
   */
  get litBox() {
    if (!this.lit) return null;
    const box = this.#landmarks?.boxAt(this.lit, this.motion.view, this.motion.size);
    if (box) return box;
    const { x, y } = this.motion.pointOf(cellOf(this.#world, this.lit.bundle, this.lit.slot));
    const side = this.motion.view.scale;
    return { x, y, side, height: side };
  }

  /** Moves the map up if the bottom `coveredPx` CSS pixels cover the highlighted cell. */
  uncover(coveredPx) {
    const { y, height } = this.litBox;
    const free = this.motion.size.height - coveredPx;
    if (coveredPx === 0 || y + height < free) return;
    const { view } = this.motion;
    const down = (y + height / 2 - free / 2) / view.scale;
    const to = { x: view.x, y: view.y + down, scale: view.scale };
    this.motion.flyTo(to, performance.now());
  }

  requestFrame() {
    if (this.#isFrameRequested) return;
    this.#isFrameRequested = true;
    requestAnimationFrame((now) => {
      this.#isFrameRequested = false;
      if (!this.#released.signal.aborted) this.#frame(now);
    });
  }

  #size() {
    return { width: this.#canvas.clientWidth || 1, height: this.#canvas.clientHeight || 1 };
  }

  #resize() {
    const size = this.#size();
    const { width, height } = this.motion.size;
    this.#ratio = Math.min(MAX_RATIO, window.devicePixelRatio);
    this.#painter.resize(size, this.#ratio);
    if (size.width !== width || size.height !== height) this.motion.resize(size);
    this.#measureControls();
    this.#frame(performance.now());
  }

  #frame(now) {
    const { motion } = this;
    const isMoving = motion.step(now);
    const { view, size } = motion;
    const lit = this.lit;
    this.#plan = planOf(this.#world, view, size, this.#ratio);
    this.#painter.paint({
      view,
      size,
      plan: this.#plan,
      get: (key) => this.#loader.get(key),
      lit: lit && cellOf(this.#world, lit.bundle, lit.slot),
      cursor: this.#cursor(),
      landmarks: (context) =>
        this.#landmarks?.paint(context, { view, size, ratio: this.#ratio, lit }) ?? false,
    });
    this.onFrame();
    this.#wantSoon(now);
    clearTimeout(this.#restTimer);
    if (isMoving) this.requestFrame();
    else this.#restTimer = setTimeout(() => this.#rest(), REST_MS);
  }

  /**
   * Returns the cell in the middle, or null if the visitor does not use the keyboard or icons are
   * too small.
   */
  #cursor() {
    if (!this.isNear || !this.#canvas.matches(":focus-visible")) return null;
    const { x, y } = this.motion.view;
    return { x: Math.floor(x), y: Math.floor(y) };
  }

  #wantSoon(now) {
    clearTimeout(this.#wantTimer);
    const wait = this.#wantedAt + WANT_MS - now;
    if (wait <= 0) this.#want();
    else this.#wantTimer = setTimeout(() => this.#want(), wait);
  }

  #want() {
    if (this.isAway) return;
    this.#wantedAt = performance.now();
    const { motion } = this;
    const has = (key) => this.#loader.get(key) !== undefined;
    const [world, size, ratio] = [this.#world, motion.size, this.#ratio];
    const keys = motion.isFlying
      ? keysForFlight(world, motion.end, this.#plan.level, size, ratio, has)
      : keysFor(world, planOf(world, motion.end, size, ratio), has);
    this.#loader.want(this.#extra && !keys.includes(this.#extra) ? [this.#extra, ...keys] : keys);
  }

  #rest() {
    if (this.isAway) return;
    const view = this.motion.isWhole ? null : this.motion.view;
    const hash = writeMapAddress({ site: this.site, view, order: this.order });
    try {
      if (hash !== location.hash) {
        history.replaceState(null, "", hash || location.pathname + location.search);
      }
    } catch {
      // Browsers limit how often the address may be written.
    }
    this.onRest();
  }
}
