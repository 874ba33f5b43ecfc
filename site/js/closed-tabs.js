// This module records which tabs the visitor has closed, for each wall, in closing order. They are
// known after a reload and after Back. Without storage this lasts until the visitor leaves the
// page.

const KEY = "closed";
/** Limits of what is stored, together about 2 MB. */
const MAX_WALLS = 20;
const MAX_TABS = 10_000;

/** The closed tabs in a visit. */
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

  /** The shown wall's closed tabs, in closing order. */
  get ofWall() {
    return this.#shown;
  }

  get count() {
    return [...this.#walls.values()].reduce((sum, tabs) => sum + tabs.length, 0);
  }

  /** Returns a tab that must be shown again because too many are closed, or null. */
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

  /** A wall without closed tabs is not stored. */
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
