// This module turns pointer, wheel and key events on the canvas into motion.

import { wholeView } from "./map-geometry.js";

const TAP_PX = 6;
const DOUBLE_TAP_MS = 320;
const DOUBLE_TAP_PX = 28;
/** A finger that rests this long before it is lifted does not throw the map. */
const THROW_MS = 80;
const WHEEL_PART_A_PX = 0.003;
/** Browsers report a pinch on a touchpad as a wheel with small steps and the Ctrl key. */
const PINCH_PART_A_PX = 0.012;
const MAX_WHEEL_PART = 0.8;
const LINE_PX = 32;
const KEY_FACTOR = 1.7;
const DOUBLE_TAP_FACTOR = 2.5;
/** At smaller scales, arrow keys move by a part of the view instead of one cell. */
const CELL_STEP_FROM = 24;
const PAN_PART = 0.18;

/** Translates a canvas's input events into motion. */
export class MapGestures {
  #canvas;
  #motion;
  #world;
  #onTap;
  #onChange;
  #down = new Map();
  #start = null;
  #isTap = false;
  #pinched = null;
  #gestureScale = 1;
  #track = [];
  #lastTap = { time: -Infinity, x: 0, y: 0 };

  /**
   * `onTap(point, isKey)` is called for a tap, a click and Enter. If a second tap zooms, it is
   * called with null, which cancels the first tap.
   */
  constructor(canvas, world, motion, { onTap, onChange }) {
    this.#canvas = canvas;
    this.#world = world;
    this.#motion = motion;
    this.#onTap = onTap;
    this.#onChange = onChange;
    const listen = (name, act) => canvas.addEventListener(name, (event) => act(event));
    listen("pointerdown", (event) => this.#press(event));
    listen("pointermove", (event) => this.#move(event));
    listen("pointerup", (event) => this.#lift(event));
    listen("pointercancel", (event) => this.#lift(event, true));
    listen("keydown", (event) => this.#key(event));
    listen("gesturestart", (event) => this.#gesture(event, true));
    listen("gesturechange", (event) => this.#gesture(event, false));
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  #point({ clientX, clientY }) {
    const { left, top } = this.#canvas.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  }

  #press(event) {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    this.#canvas.setPointerCapture(event.pointerId);
    const point = this.#point(event);
    this.#down.set(event.pointerId, point);
    this.#isTap = this.#down.size === 1;
    this.#start = point;
    this.#track = [];
    this.#motion.stop();
    this.#beginPinch();
    this.#onChange();
  }

  #beginPinch() {
    const [a, b] = [...this.#down.values()];
    this.#pinched = b ? {
      fixed: this.#motion.worldAt(middleOf(a, b)),
      apart: Math.max(1, Math.hypot(a.x - b.x, a.y - b.y)),
      scale: this.#motion.view.scale,
    } : null;
  }

  #move(event) {
    const before = this.#down.get(event.pointerId);
    if (!before) return;
    const point = this.#point(event);
    const moved = Math.hypot(point.x - this.#start.x, point.y - this.#start.y);
    if (this.#isTap && moved < TAP_PX) return;
    this.#isTap = false;
    this.#down.set(event.pointerId, point);
    if (this.#pinched) {
      const [a, b] = [...this.#down.values()];
      const { fixed, apart, scale } = this.#pinched;
      const factor = Math.hypot(a.x - b.x, a.y - b.y) / apart;
      this.#motion.pinch(fixed, middleOf(a, b), scale * factor);
    } else {
      this.#motion.panBy(point.x - before.x, point.y - before.y);
      this.#track.push({ time: event.timeStamp, ...point });
      if (this.#track.length > 6) this.#track.shift();
    }
    this.#onChange();
  }

  #lift(event, isCancelled = false) {
    if (!this.#down.delete(event.pointerId)) return;
    const wasPinch = this.#pinched !== null;
    this.#beginPinch();
    if (wasPinch || this.#down.size > 0) {
      this.#track = [];
      return;
    }
    const isTap = this.#isTap && !isCancelled;
    if (!isTap) this.#throw(event.timeStamp);
    this.#onChange();
    // Call `onTap` last, because `onChange` clears the message that a tap may show.
    if (isTap) this.#tap(event);
  }

  #throw(time) {
    const track = this.#track.filter((one) => time - one.time < THROW_MS);
    const [first, last] = [track[0], track.at(-1)];
    if (track.length < 2 || last.time === first.time) return;
    const ms = last.time - first.time;
    this.#motion.throw((last.x - first.x) / ms, (last.y - first.y) / ms, performance.now());
  }

  #tap(event) {
    const point = this.#point(event);
    const { time, x, y } = this.#lastTap;
    const isDouble = event.timeStamp - time < DOUBLE_TAP_MS &&
      Math.hypot(point.x - x, point.y - y) < DOUBLE_TAP_PX;
    this.#lastTap = { time: isDouble ? -Infinity : event.timeStamp, ...point };
    this.#onTap(isDouble ? null : point, false);
    if (isDouble) this.#motion.zoomBy(DOUBLE_TAP_FACTOR, point, performance.now());
  }

  #wheel(event) {
    event.preventDefault();
    const px = event.deltaY * (event.deltaMode === 0 ? 1 : LINE_PX);
    const part = -px * (event.ctrlKey ? PINCH_PART_A_PX : WHEEL_PART_A_PX);
    const factor = Math.exp(Math.min(MAX_WHEEL_PART, Math.max(-MAX_WHEEL_PART, part)));
    this.#motion.zoomBy(factor, this.#point(event), performance.now());
    this.#onChange();
  }

  #gesture(event, isStart) {
    event.preventDefault();
    if (this.#down.size > 0) return;
    const before = isStart ? event.scale : this.#gestureScale;
    this.#gestureScale = event.scale;
    this.#motion.zoomBy(event.scale / before, this.#point(event), performance.now());
    this.#onChange();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { width, height } = this.#motion.size;
    const middle = { x: width / 2, y: height / 2 };
    const arrow = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (arrow[event.key]) {
      const { scale } = this.#motion.end;
      const isCell = scale >= CELL_STEP_FROM && !event.shiftKey;
      const px = isCell ? scale : Math.min(width, height) * PAN_PART;
      this.#motion.panBy(arrow[event.key][0] * px, arrow[event.key][1] * px);
    } else if (event.key === "+" || event.key === "=") {
      this.zoom(KEY_FACTOR);
    } else if (event.key === "-" || event.key === "_") {
      this.zoom(1 / KEY_FACTOR);
    } else if (event.key === "Home") {
      this.showAll();
    } else if (event.key === "Enter") {
      this.#onTap(middle, true);
    } else {
      return;
    }
    event.preventDefault();
    this.#onChange();
  }

  zoom(factor) {
    const { width, height } = this.#motion.size;
    this.#motion.zoomBy(factor, { x: width / 2, y: height / 2 }, performance.now());
    this.#onChange();
  }

  showAll() {
    this.#motion.flyTo(wholeView(this.#world, this.#motion.size), performance.now());
    this.#onChange();
  }
}

function middleOf(a, b) {
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}
