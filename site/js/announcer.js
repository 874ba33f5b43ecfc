// Owns when a screen reader is told what changes often: the newest words, at most once in ten
// seconds. Must not know: what the words are about.

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

  /** Tells `text` as soon as it may; it replaces what still waits. */
  say(text) {
    this.cancel();
    this.#timer = setTimeout(() => {
      this.#saidAt = performance.now();
      this.#element.textContent = text;
    }, Math.max(0, this.#saidAt + LEAST_MS - performance.now()));
  }

  /** Drops what still waits. */
  cancel() {
    clearTimeout(this.#timer);
  }
}
