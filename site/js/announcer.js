// Owns when frequent changes are announced to screen readers: the newest text, at most once in ten
// seconds. Does not depend on what the text is about.

const LEAST_MS = 10_000;

/** Tells a screen reader words, in a status element. */
export class Announcer {
  #element;
  #timer = 0;
  #saidAt = -Infinity;

  /** `element` has the role "status". */
  constructor(element) {
    this.#element = element;
  }

  /** Announces `text` as soon as this is allowed. It replaces a waiting text. */
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
