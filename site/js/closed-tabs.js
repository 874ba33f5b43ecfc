// This module records which tabs the visitor closed on each wall, in closing order. The record
// survives a reload if the browser allows storage.

const KEY = "closed";
/** Limits on what is stored, together about 2 million characters. */
const MAX_WALLS = 20;
const MAX_TABS = 10_000;

/** The tabs that the visitor closed during this visit. */
export class ClosedTabs {
  #storage;
  /** By wall name; the most recently used wall is last. */
  #walls;
  #name = "";
  #shown = [];

  constructor(storage) {
    this.#storage = storage;
    this.#walls = new Map(read(storage));
  }

  select(name) {
    this.#name = name;
    this.#shown = this.#walls.get(name) ?? [];
    this.#keepWall();
  }

  /** The current wall's closed tabs, in closing order. */
  get ofWall() {
    return this.#shown;
  }

  get count() {
    return [...this.#walls.values()].reduce((sum, tabs) => sum + tabs.length, 0);
  }

  /**
   * Records a closed tab. If the wall now has too many, returns the oldest one, which must be shown
   * again; otherwise null.
   */
  add(index) {
    this.#shown.push(index);
    const reopened = this.#shown.length > MAX_TABS ? this.#shown.shift() : null;
    this.#keepWall();
    this.#write();
    return reopened;
  }

  remove(index) {
    const at = this.#shown.lastIndexOf(index);
    if (at >= 0) this.#shown.splice(at, 1);
    this.#keepWall();
    this.#write();
  }

  /** Makes this the most recently used wall. A wall without closed tabs is not stored. */
  #keepWall() {
    this.#walls.delete(this.#name);
    if (this.#shown.length > 0) this.#walls.set(this.#name, this.#shown);
    const [oldest] = this.#walls.keys();
    if (this.#walls.size > MAX_WALLS) this.#walls.delete(oldest);
  }

  #write() {
    try {
      this.#storage?.setItem(KEY, JSON.stringify([...this.#walls]));
    } catch {
    }
  }
}

function read(storage) {
  try {
    const walls = JSON.parse(storage?.getItem(KEY) ?? "[]");
    return walls.slice(-MAX_WALLS).map(([name, tabs]) =>
      [String(name), tabs.slice(-MAX_TABS).filter((tab) => Number.isSafeInteger(tab) && tab >= 0)]);
  } catch {
    return [];
  }
}
