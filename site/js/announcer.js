// This module limits how often changes are announced to screen readers, because frequent ones would
// interrupt the reader.

const LEAST_MS = 10_000;

/** Announces the newest text through a status element, at most once every ten seconds. */
export class Announcer {
  #element;
  #timer = 0;
  #saidAt = -Infinity;

  constructor(element) {
    this.#element = element;
  }

  say(text) {
    this.cancel();
    this.#timer = setTimeout(() => {
      this.#saidAt = performance.now();
      this.#element.textContent = text;
    }, Math.max(0, this.#saidAt + LEAST_MS - performance.now()));
  }

  cancel() {
    clearTimeout(this.#timer);
  }
}
