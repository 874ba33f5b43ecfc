// Owns the button that stops and starts the rows. Its name and picture show what pressing it does.
// Invariant: if the visitor's system prefers reduced motion, rows do not move until the button is
// pressed. Does not depend on how rows move.

import { MOTION } from "./strings.js";


/** The button, and whether rows are stopped. */
export class MotionButton {
  #button;
  #onChange;
  #reduced = matchMedia("(prefers-reduced-motion: reduce)");
  /** True while no row may move. */
  isStopped = false;

  /** `onChange` is called after each change to `isStopped`, and once at the start. */
  constructor(button, onChange) {
    this.#button = button;
    this.#onChange = onChange;
    button.addEventListener("click", () => this.#set(!this.isStopped));
    this.#reduced.addEventListener("change", () => this.#set(this.#reduced.matches));
    this.#set(this.#reduced.matches);
  }

  #set(isStopped) {
    this.isStopped = isStopped;
    const start = this.#reduced.matches ? MOTION.startReduced : MOTION.start;
    const name = isStopped ? start : MOTION.stop;
    this.#button.dataset.starts = isStopped;
    this.#button.ariaLabel = name;
    this.#button.title = name;
    this.#onChange(isStopped);
  }
}
