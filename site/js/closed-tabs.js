// Owns which tabs the visitor has closed: of each wall, in the order of closing, for this visit.
// Invariants: a wall is known again after a reload and after Back; what is kept has a limit, and
// without storage it is kept until the page is left. Must not know: the DOM, how a tab is closed.

const KEY = "closed";
/** Walls and tabs of a wall that are kept: at most about 2 MB. */
const MAX_WALLS = 20;
const MAX_TABS = 10_000;

/** The closed tabs of a visit. */
export class ClosedTabs {
  #storage;
  /** The closed tabs of each wall that has any, by its name; the last one was used last. */
  #walls;
  /** The wall that is shown, and its closed tabs. */
  #name = "";
  #shown = [];

  /** `storage` is the session's Storage, or null. */
  constructor(storage) {
    this.#storage = storage;
    this.#walls = new Map(read(storage));
  }

  /** Selects the wall of this name: it is the one that is shown. */
  select(name) {
    this.#name = name;
    this.#shown = this.#walls.get(name) ?? [];
    this.#keepWall();
  }

  /** The closed tabs of the wall that is shown, in the order of closing. */
  get ofWall() {
    return this.#shown;
  }

  /** The number of closed tabs on all walls. */
  get count() {
    return [...this.#walls.values()].reduce((sum, tabs) => sum + tabs.length, 0);
  }

  /** Adds a tab. Returns one that must be shown again because too many are closed, or null. */
  add(index) {
    this.#shown.push(index);
    const reopened = this.#shown.length > MAX_TABS ? this.#shown.shift() : null;
    this.#keepWall();
    this.#write();
    return reopened;
  }

  /** Removes the tab. */
  remove(index) {
    const at = this.#shown.lastIndexOf(index);
    if (at >= 0) this.#shown.splice(at, 1);
    this.#keepWall();
    this.#write();
  }

  /** Keeps the wall that is shown as the last one; a wall without closed tabs takes no place. */
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
      // There is no room, or storage is forbidden.
    }
  }
}

/** Reads [[name, tabs], ...] from the storage; what is not valid is left out. */
function read(storage) {
  try {
    const walls = JSON.parse(storage?.getItem(KEY) ?? "[]");
    return walls.slice(-MAX_WALLS).map(([name, tabs]) =>
      [String(name), tabs.slice(-MAX_TABS).filter((tab) => Number.isSafeInteger(tab) && tab >= 0)]);
  } catch {
    return [];
  }
}
