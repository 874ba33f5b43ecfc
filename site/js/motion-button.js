// This module owns the button that stops and starts the rows. If the visitor's system prefers
// reduced motion, rows do not move until this button is pressed.

import { MOTION } from "./strings.js";


/** The button's name and picture show what pressing it does. */
export class MotionButton {
  #button;
  #onChange;
  #reduced = matchMedia("(prefers-reduced-motion: reduce)");
  isStopped = false;

  /** `onChange` is also called once at the start. */
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
