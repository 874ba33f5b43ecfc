// This module moves the map's view: dragging with inertia, smooth zooming, and flights. If
// `isStill()` is true, each change is a jump.

import {
  clampView, fitScale, flightPath, toScreen, toWorld, wholeView, zoomedAt,
} from "./map-geometry.js";

/**
 * Time constants: after ZOOM_MS, 63 % of a zoom is done; after THROW_MS, a thrown map has lost 63 %
 * of its speed.
 */
const ZOOM_MS = 70;
const THROW_MS = 280;
/** In pixels per millisecond. */
const MIN_SPEED = 0.02;
const FLIGHT_MS_A_LENGTH = 480;
const FLIGHT_MS = { min: 350, max: 3_200 };
/** A zoom ends when the scale differs from the wanted one by less than this factor. */
const CLOSE = 1.002;

/** A world's view and its motion. Times are in milliseconds, as in animation frames. */
export class MapMotion {
  #world;
  #isStill;
  /**
   * The current motion {step(now, elapsed), end}, or null. `step` returns true while the motion
   * continues.
   */
  #moving = null;
  #last = 0;

  constructor(world, size, isStill) {
    this.#world = world;
    this.#isStill = isStill;
    this.size = size;
    this.view = wholeView(world, size);
  }

  get isWhole() {
    return this.view.scale <= fitScale(this.#world, this.size) * 1.0001;
  }

  /** The view at which a zoom or a flight will end, otherwise the current view. */
  get end() {
    return this.#moving?.end ?? this.view;
  }

  get isFlying() {
    return this.#moving?.isFlight === true;
  }

  get isMoving() {
    return this.#moving !== null;
  }

  /** Advances the motion to `now`. Returns true if it continues. */
  step(now) {
    const elapsed = Math.min(100, Math.max(0, now - this.#last));
    this.#last = now;
    if (this.#moving && !this.#moving.step(now, elapsed)) this.#moving = null;
    return this.#moving !== null;
  }

  /** Keeps the view's middle. If the whole world was visible, it stays visible. */
  resize(size) {
    const wasWhole = this.isWhole;
    this.size = size;
    this.stop();
    this.#set(wasWhole ? wholeView(this.#world, size) : this.view);
  }

  stop() {
    this.#moving = null;
  }

  jumpTo(view) {
    this.stop();
    this.#set(view);
  }

  /** Moves the world by CSS pixels. */
  panBy(dx, dy) {
    const { x, y, scale } = this.view;
    this.jumpTo({ x: x - dx / scale, y: y - dy / scale, scale });
  }

  /** Lets the world continue at this speed, in CSS pixels per millisecond, and slow down. */
  throw(vx, vy, now) {
    if (this.#isStill() || Math.hypot(vx, vy) < MIN_SPEED) return;
    const speed = { x: vx, y: vy };
    this.#last = now;
    this.#moving = {
      step: (_, elapsed) => {
        const { x, y, scale } = this.view;
        this.#set({ x: x - speed.x * elapsed / scale, y: y - speed.y * elapsed / scale, scale });
        const kept = Math.exp(-elapsed / THROW_MS);
        speed.x *= kept;
        speed.y *= kept;
        return Math.hypot(speed.x, speed.y) >= MIN_SPEED;
      },
    };
  }

  /** Zooms so that the world point at `point` on the canvas does not move. */
  zoomBy(factor, point, now) {
    const from = this.#moving?.isZoom ? this.#moving.end.scale : this.view.scale;
    const scale = clampView(this.#world, this.size, { x: 0, y: 0, scale: from * factor }).scale;
    const fixed = toWorld(this.view, this.size, point);
    const at = (value) => clampView(this.#world, this.size,
      zoomedAt(this.#viewWith(fixed, point), this.size, point, value));
    if (this.#isStill()) {
      this.jumpTo(at(scale));
      return;
    }
    this.#last = this.#moving ? this.#last : now;
    this.#moving = {
      isZoom: true,
      end: at(scale),
      step: (_, elapsed) => {
        const rest = (scale / this.view.scale) ** Math.exp(-elapsed / ZOOM_MS);
        const isNearEnough = rest < CLOSE && rest > 1 / CLOSE;
        this.#set(at(isNearEnough ? scale : scale / rest));
        return !isNearEnough;
      },
    };
  }

  /** Sets the scale, and moves the world point `fixed` to `point` on the canvas. */
  pinch(fixed, point, scale) {
    const to = clampView(this.#world, this.size, { x: 0, y: 0, scale }).scale;
    const { width, height } = this.size;
    const x = fixed.x - (point.x - width / 2) / to;
    this.jumpTo({ x, y: fixed.y - (point.y - height / 2) / to, scale: to });
  }

  flyTo(view, now) {
    const end = clampView(this.#world, this.size, view);
    const path = flightPath(this.view, end, this.size);
    if (this.#isStill() || path.length < 1e-3) {
      this.jumpTo(end);
      return;
    }
    const { min, max } = FLIGHT_MS;
    const ms = Math.min(max, Math.max(min, path.length * FLIGHT_MS_A_LENGTH));
    this.#moving = {
      isFlight: true,
      end,
      step: (time) => {
        const part = Math.min(1, Math.max(0, (time - now) / ms));
        this.#set(path.at(part * part * (3 - 2 * part)));
        return part < 1;
      },
    };
  }

  pointOf(worldPoint) {
    return toScreen(this.view, this.size, worldPoint);
  }

  worldAt(point) {
    return toWorld(this.view, this.size, point);
  }

  #viewWith(fixed, point) {
    const { scale } = this.view;
    const { width, height } = this.size;
    return {
      x: fixed.x - (point.x - width / 2) / scale,
      y: fixed.y - (point.y - height / 2) / scale,
      scale,
    };
  }

  #set(view) {
    this.view = clampView(this.#world, this.size, view);
  }
}
