// Owns when frequent changes are announced to screen readers: the newest text, at most once in ten
// seconds. Does not depend on the text.

const LEAST_MS = 10_000;

/** Announces text to screen readers through a status element. */
export class Announcer {
  #element;
  #timer = 0;
  #saidAt = -Infinity;

  /** `element` has the role "status". */
  constructor(element) {
    this.#element = element;
  }

  /**
   * Announces `text` once ten seconds have passed since the last announcement. Replaces a text that
   * is still waiting.
   */
  say(text) {
    this.cancel();
    this.#timer = setTimeout(() => {
      this.#saidAt = performance.now();
      this.#element.textContent = text;
    }, Math.max(0, this.#saidAt + LEAST_MS - performance.now()));
  }

  /** Discards the waiting text. */
  cancel() {
    clearTimeout(this.#timer);
  }
}
