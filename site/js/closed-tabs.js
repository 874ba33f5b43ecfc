// Owns which tabs the visitor has closed: for each wall, in closing order, in this browser tab.
// Invariants: a wall's closed tabs are known after a reload and after Back; the stored data has a
// limit; without storage the data last until the visitor leaves this page. Does not depend on the
// DOM or on how a tab is closed.

const KEY = "closed";
/** Maximum walls that are stored, and maximum tabs per wall, about 2 MB in total. */
const MAX_WALLS = 20;
const MAX_TABS = 10_000;

/** The closed tabs in a visit. */
export class ClosedTabs {
  #storage;
  /** Closed tabs by wall name, for each wall that has any; the most recently used wall is last. */
  #walls;
  /** The shown wall, and its closed tabs. */
  #name = "";
  #shown = [];

  /** `storage` is the session's Storage, or null. */
  constructor(storage) {
    this.#storage = storage;
    this.#walls = new Map(read(storage));
  }

  /** Selects the wall with this name as the shown one. */
  select(name) {
    this.#name = name;
    this.#shown = this.#walls.get(name) ?? [];
    this.#keepWall();
  }

  /** The shown wall's closed tabs, in closing order. */
  get ofWall() {
    return this.#shown;
  }

  /** How many tabs are closed on all walls. */
  get count() {
    return [...this.#walls.values()].reduce((sum, tabs) => sum + tabs.length, 0);
  }

  /** Adds a tab. Returns a tab that must be shown again because too many are closed, or null. */
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

  /** Makes the shown wall the most recently used one. A wall without closed tabs is not stored. */
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
      // Storage is full or forbidden.
    }
  }
}

/** Reads [[name, tabs], ...] from storage and skips invalid entries. */
function read(storage) {
  try {
    const walls = JSON.parse(storage?.getItem(KEY) ?? "[]");
    return walls.slice(-MAX_WALLS).map(([name, tabs]) =>
      [String(name), tabs.slice(-MAX_TABS).filter((tab) => Number.isSafeInteger(tab) && tab >= 0)]);
  } catch {
    return [];
  }
}
