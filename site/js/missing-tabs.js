// Owns the words about tabs in view that cannot be shown: their bundle, which had been loaded, was
// dropped from memory and is not on the server any more.
// Must not know: why a bundle is gone, how rows are drawn.

const WORDS =
  "Some tabs here are no longer where they were. Reload the page to look for a newer scan.";

/** Says that tabs are missing, while some of them are painted. */
export class MissingTabs {
  #page;
  #isTold = false;

  /** `page` is the object of main.js. */
  constructor(page) {
    this.#page = page;
  }

  /** To be called after each painting. */
  painted() {
    const { wall, notify } = this.#page;
    const isMissing = wall.rows.some(({ cells }) =>
      cells.some(({ index, tab }) => index >= 0 && tab === null));
    if (isMissing === this.#isTold) return;
    this.#isTold = isMissing;
    notify(isMissing ? WORDS : "");
  }
}
