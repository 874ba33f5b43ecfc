// Owns the button that stops and starts the rows. Its name and picture say what a press does.
// Invariant: where the visitor's system asks for less motion, rows do not move until a press.
// Must not know: how rows move.

const REDUCED = "Start the motion (your system asks for less of it)";

/** The button, and whether rows are stopped. */
export class MotionButton {
  #button;
  #onChange;
  #reduced = matchMedia("(prefers-reduced-motion: reduce)");
  /** True while no row may move. */
  isStopped = false;

  /** `onChange` is called after each change of `isStopped`, and once at the start. */
  constructor(button, onChange) {
    this.#button = button;
    this.#onChange = onChange;
    button.addEventListener("click", () => this.#set(!this.isStopped));
    this.#reduced.addEventListener("change", () => this.#set(this.#reduced.matches));
    this.#set(this.#reduced.matches);
  }

  #set(isStopped) {
    this.isStopped = isStopped;
    const start = this.#reduced.matches ? REDUCED : "Start the motion";
    const name = isStopped ? start : "Stop the motion";
    this.#button.dataset.starts = isStopped;
    this.#button.ariaLabel = name;
    this.#button.title = name;
    this.#onChange(isStopped);
  }
}
