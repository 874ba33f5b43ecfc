// Owns how the map's view moves: dragging with inertia, smooth zooming, flights. Invariants: the
// view is always an allowed one; without motion (`isStill`) each change is a jump; any action by
// the visitor ends a flight. Does not depend on the DOM or the drawing.

import {
  clampView, fitScale, flightPath, toScreen, toWorld, wholeView, zoomedAt,
} from "./map-geometry.js";

/**
 * Time constants: after this time, 63 % of a zoom are done, or 63 % of a thrown map's speed are
 * lost.
 */
const ZOOM_MS = 70;
const THROW_MS = 280;
/** A thrown map stops below this speed, in pixels per millisecond. */
const MIN_SPEED = 0.02;
const FLIGHT_MS_A_LENGTH = 480;
const FLIGHT_MS = { min: 350, max: 3_200 };
/** A zoom ends when the scale differs from the wanted one by less than this factor. */
const CLOSE = 1.002;

/** A world's view and its motion; times are animation frame times, in ms. */
export class MapMotion {
  #world;
  #isStill;
  /** The current motion: {step(now, elapsed) → true while it continues, end}, or null. */
  #moving = null;
  #last = 0;

  /**
   * `size` is the canvas's {width, height} in CSS pixels; `isStill()` returns true if motion is
   * off.
   */
  constructor(world, size, isStill) {
    this.#world = world;
    this.#isStill = isStill;
    this.size = size;
    this.view = wholeView(world, size);
  }

  /** True if the whole world is in view. */
  get isWhole() {
    return this.view.scale <= fitScale(this.#world, this.size) * 1.0001;
  }

  /** The view at which the motion will end, or the current one if there is no motion. */
  get end() {
    return this.#moving?.end ?? this.view;
  }

  /** True during a flight. */
  get isFlying() {
    return this.#moving?.isFlight === true;
  }

  /** True while something moves the view. */
  get isMoving() {
    return this.#moving !== null;
  }

  /** Advances the view to the time of an animation frame. Returns true while motion continues. */
  step(now) {
    const elapsed = Math.min(100, Math.max(0, now - this.#last));
    this.#last = now;
    if (this.#moving && !this.#moving.step(now, elapsed)) this.#moving = null;
    return this.#moving !== null;
  }

  /**
   * Sets the canvas's size and keeps the view's middle. If the whole world was visible, it stays
   * visible.
   */
  resize(size) {
    const wasWhole = this.isWhole;
    this.size = size;
    this.stop();
    this.#set(wasWhole ? wholeView(this.#world, size) : this.view);
  }

  stop() {
    this.#moving = null;
  }

  /** Shows a view without motion. */
  jumpTo(view) {
    this.stop();
    this.#set(view);
  }

  /** Moves the world by CSS pixels, as a finger does. */
  panBy(dx, dy) {
    const { x, y, scale } = this.view;
    this.jumpTo({ x: x - dx / scale, y: y - dy / scale, scale });
  }

  /**
   * Throws the world: it continues at this speed, in CSS pixels per millisecond, and slows down.
   */
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

  /** Zooms by a factor; the world point at `point` on the canvas does not move. */
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

  /** Zooms and pans with two fingers: moves the world point `fixed` to `point`. */
  pinch(fixed, point, scale) {
    const to = clampView(this.#world, this.size, { x: 0, y: 0, scale }).scale;
    const { width, height } = this.size;
    const x = fixed.x - (point.x - width / 2) / to;
    this.jumpTo({ x, y: fixed.y - (point.y - height / 2) / to, scale: to });
  }

  /** Flies to a view. If motion is off, jumps there. */
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

  /** Returns the current canvas position of a world point. */
  pointOf(worldPoint) {
    return toScreen(this.view, this.size, worldPoint);
  }

  /** Returns the world point that is currently at a canvas position. */
  worldAt(point) {
    return toWorld(this.view, this.size, point);
  }

  /** Returns a view at the current scale with the world point `fixed` at `point`. */
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
