// This module lets the visitor move a row by dragging, throwing or swiping it, or by the wheel. On
// a touch screen a vertical movement scrolls the page.

/** A shorter movement is a click. */
const MIN_DRAG_PX = 6;
/** A throw's speed is measured over this time before the release. */
const SPEED_WINDOW_MS = 80;
/** A thrown row keeps 37 % of its speed after this time, like lists on phones. */
const SLOWING_MS = 325;
/** In pixels per millisecond. A slower row stops. */
const MIN_SPEED = 0.02;
/** The height of a line, for browsers that report wheel movement in lines. */
const LINE_PX = 32;

/** Lets the visitor move rows. */
export class RowDragging {
  #marquee;
  #container;
  /** {id, node, x, startX, isDrag, samples}, or null. */
  #press = null;
  #thrown = new Map();
  #thrownAt = 0;
  #mustSwallowClick = false;
  #reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(container, marquee) {
    this.#container = container;
    this.#marquee = marquee;
    const on = (type, listener, options) => container.addEventListener(type, listener, options);
    on("pointerdown", (event) => this.#begin(event));
    on("pointermove", (event) => this.#drag(event));
    on("dragstart", (event) => event.preventDefault());
    // With a passive listener, the browser need not wait for it at every scroll.
    on("wheel", (event) => this.#wheel(event), { passive: true });
    // Until a drag begins, the pointer is not captured and may be released outside the wall.
    window.addEventListener("pointerup", (event) => this.#end(event, true));
    window.addEventListener("pointercancel", (event) => this.#end(event, false));
    // A drag may end without a click, so a new press must not suppress its own click.
    const forget = () => (this.#mustSwallowClick = false);
    window.addEventListener("pointerdown", forget, true);
    window.addEventListener("click", (event) => {
      // A click by the keyboard or a script has detail 0.
      if (!this.#mustSwallowClick || event.detail === 0) return;
      this.#mustSwallowClick = false;
      event.preventDefault();
      event.stopPropagation();
    }, true);
  }

  #begin(event) {
    const node = event.target.closest(".row");
    if (!node || event.button !== 0 || !event.isPrimary) return;
    if (this.#press) this.#end({ pointerId: this.#press.id, timeStamp: 0 }, false);
    // A press on a thrown row only stops the row, so its click must not open a tab.
    this.#mustSwallowClick = this.#thrown.delete(node);
    this.#marquee.hold(node);
    const { pointerId: id, clientX: x } = event;
    this.#press = { id, node, x, startX: x, isDrag: false, samples: [] };
  }

  #drag(event) {
    const { pointerId, clientX, timeStamp } = event;
    const press = this.#press;
    if (press?.id !== pointerId) return;
    if (event.buttons === 0) {
      this.#end(event, false);
      return;
    }
    if (!press.isDrag) {
      if (Math.abs(clientX - press.startX) < MIN_DRAG_PX) return;
      press.isDrag = true;
      this.#container.setPointerCapture(pointerId);
      this.#container.classList.add("dragged");
    }
    this.#marquee.moveBy(press.node, clientX - press.x);
    press.x = clientX;
    press.samples.push({ x: clientX, at: timeStamp });
  }

  #end({ pointerId, timeStamp, target }, isRelease) {
    const press = this.#press;
    if (press?.id !== pointerId) return;
    this.#press = null;
    this.#container.classList.remove("dragged");
    // No click follows if the browser cancels the pointer.
    if (press.isDrag || !isRelease) this.#mustSwallowClick = isRelease;
    if (press.isDrag || !isRelease || !press.node.contains(target)) {
      // If the press focused a link, remove the focus, because a row with a focused link does not
      // move.
      const focused = document.activeElement;
      if (press.node.contains(focused) && !focused.matches(":focus-visible")) focused.blur();
    }
    const speed = isRelease ? speedOf(press.samples, timeStamp) : 0;
    if (Math.abs(speed) < MIN_SPEED || this.#reducedMotion.matches) {
      this.#marquee.release(press.node);
      return;
    }
    this.#thrown.set(press.node, speed);
    if (this.#thrown.size > 1) return;
    this.#thrownAt = performance.now();
    requestAnimationFrame((now) => this.#moveThrown(now));
  }

  #moveThrown(now) {
    const ms = Math.max(0, now - this.#thrownAt);
    this.#thrownAt = now;
    for (const [node, speed] of this.#thrown) {
      const isMoved = this.#marquee.moveBy(node, speed * ms);
      const slower = speed * Math.exp(-ms / SLOWING_MS);
      this.#thrown.set(node, slower);
      if (isMoved && Math.abs(slower) >= MIN_SPEED) continue;
      this.#thrown.delete(node);
      this.#marquee.release(node);
    }
    if (this.#thrown.size > 0) requestAnimationFrame((next) => this.#moveThrown(next));
  }

  #wheel({ target, deltaX, deltaY, deltaMode, shiftKey }) {
    const node = target.closest(".row");
    // With the shift key, some browsers report a vertical wheel as deltaX, others as deltaY.
    const delta = shiftKey && deltaX === 0 ? deltaY : deltaX;
    if (!node || (Math.abs(deltaY) > Math.abs(delta))) return;
    this.#marquee.pointAt(node);
    this.#marquee.moveBy(node, -delta * (deltaMode === 0 ? 1 : LINE_PX));
  }
}

/** In pixels per millisecond. */
function speedOf(samples, end) {
  const last = samples.filter(({ at }) => end - at < SPEED_WINDOW_MS);
  const [first] = last;
  return last.length < 2 ? 0 : (last.at(-1).x - first.x) / Math.max(1, last.at(-1).at - first.at);
}
