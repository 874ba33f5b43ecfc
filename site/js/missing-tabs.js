// This module reports painted tabs that cannot be shown, because their bundle was dropped from
// memory and can no longer be loaded.

import { WALL } from "./strings.js";

/** Shows a message while missing tabs are painted. */
export class MissingTabs {
  #page;
  #isTold = false;

  constructor(page) {
    this.#page = page;
  }

  /** Must be called after each painting. */
  painted() {
    const { wall, notify } = this.#page;
    const isMissing = wall.rows.some(({ cells }) =>
      cells.some(({ index, tab }) => index >= 0 && tab === null));
    if (isMissing === this.#isTold) return;
    this.#isTold = isMissing;
    notify(isMissing ? WALL.someMoved : "");
  }
}
