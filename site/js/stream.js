// This module owns the wall's list of tabs: bundles are appended in random order, and a tab keeps
// its number. The same seed, bundle count and first bundle give the same order in every browser.
// The number of tabs in memory is limited. A broken bundle is skipped, and a network failure stops
// loading until `resume`.

const MAX_CONCURRENT_FETCHES = 4;
/** About 10 MB, with 1.5 KB per tab. */
const MAX_HELD_TABS = 6_000;
/** If this many bundles fail in a row, the scan is probably gone. */
const MAX_BAD_IN_A_ROW = 6;

/** Loads bundles on demand, and numbers their tabs from 0. */
export class TabStream {
  /**
   * `order` is a `shuffledOrder`; `fetchTabs(number, again)` resolves to {tabs} or {trouble},
   * `again` is true if a cached copy may be bad. `tabsABundle` is an estimate, corrected with each
   * bundle.
   */
  constructor({ order, fetchTabs, onChange, tabsABundle = 100, maxHeldTabs = MAX_HELD_TABS }) {
    this.order = order;
    this.fetchTabs = fetchTabs;
    this.onChange = onChange;
    this.estimate = Math.max(1, tabsABundle);
    this.maxHeldTabs = maxHeldTabs;
    this.total = 0;
    /** "", "network", or "missing" after too many bad bundles. */
    this.trouble = "";
    /** Missing or broken bundles; `resume` retries them. */
    this.skipped = [];
    this.parts = [];
    this.retries = [];
    this.held = new Map();
    this.heldTabs = 0;
    this.refetching = new Set();
    this.filling = false;
    this.wanted = 0;
    this.badInARow = 0;
    this.closed = false;
  }

  /** True when every bundle has been appended or skipped. */
  get ended() {
    return this.order.remaining === 0 && this.retries.length === 0 && !this.filling;
  }

  /** Loads until `wanted` tabs are known, unless the bundles run out or a failure stops it. */
  async fillTo(wanted) {
    this.wanted = Math.max(this.wanted, wanted);
    if (this.filling || this.closed || this.trouble !== "" || this.ended) return;
    if (this.total >= this.wanted) return;
    this.filling = true;
    const requests = [];
    while (this.trouble === "" && !this.closed) {
      this.#startRequests(requests);
      if (requests.length === 0) break;
      const { number, answer } = requests[0];
      const { tabs, trouble } = await answer;
      if (trouble === "network") {
        this.trouble = "network";
        break;
      }
      requests.shift();
      if (trouble) this.#skip(number);
      else this.#append(number, tabs);
      if (!this.closed) this.onChange();
    }
    this.retries.unshift(...requests.map((request) => request.number));
    this.filling = false;
    if (!this.closed) this.onChange();
  }

  /** Returns undefined while the tab is loading or unknown, null if it is gone. */
  at(index) {
    if (index < 0 || index >= this.total) return undefined;
    const part = this.parts[partOfTab(this.parts, index)];
    const tabs = this.held.get(part.number);
    if (tabs === undefined) {
      this.#refetch(part.number);
      return undefined;
    }
    // Move the bundle to the end, so that the least recently used one is first.
    this.held.delete(part.number);
    this.held.set(part.number, tabs);
    return tabs[index - part.start] ?? null;
  }

  indexOf(host) {
    for (const { start, number } of this.parts) {
      const slot = this.held.get(number)?.findIndex((tab) => tab.host === host) ?? -1;
      if (slot >= 0) return start + slot;
    }
    return -1;
  }

  resume() {
    this.trouble = "";
    this.badInARow = 0;
    this.retries.push(...this.skipped.splice(0));
    this.onChange();
    return this.fillTo(this.total + 1);
  }

  close() {
    this.closed = true;
  }

  #startRequests(requests) {
    let expected = this.total + requests.length * this.estimate;
    // The first bundle is loaded alone, so that the first tabs appear early.
    const most = this.total === 0 ? 1 : MAX_CONCURRENT_FETCHES;
    while (requests.length < most && expected < this.wanted) {
      const retry = this.retries.shift();
      const number = retry ?? this.order.next();
      if (number === null) return;
      requests.push({ number, answer: this.fetchTabs(number, retry !== undefined) });
      expected += this.estimate;
    }
  }

  #skip(number) {
    this.skipped.push(number);
    this.badInARow += 1;
    if (this.badInARow >= MAX_BAD_IN_A_ROW) this.trouble = "missing";
  }

  #append(number, tabs) {
    this.badInARow = 0;
    if (tabs.length === 0) return;
    this.parts.push({ start: this.total, number });
    this.total += tabs.length;
    this.estimate = Math.max(1, this.total / this.parts.length);
    this.#hold(number, tabs);
  }

  #hold(number, tabs) {
    this.held.set(number, tabs);
    this.heldTabs += tabs.length;
    for (const [oldest, its] of this.held) {
      if (this.heldTabs <= this.maxHeldTabs || oldest === number) break;
      this.held.delete(oldest);
      this.heldTabs -= its.length;
    }
  }

  async #refetch(number) {
    if (this.refetching.has(number) || this.trouble === "network") return;
    this.refetching.add(number);
    const { tabs, trouble } = await this.fetchTabs(number);
    this.refetching.delete(number);
    if (this.closed) return;
    if (tabs) this.#hold(number, tabs);
    else if (trouble === "network") this.trouble = "network";
    else this.#hold(number, []);
    this.onChange();
  }
}

/** Returns a generator for numbers in [0, 1) from a 32-bit seed (mulberry32, public domain). */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * Returns {next(), remaining}: `next` returns each number in 0..length-1 once, in shuffled order
 * after `first`, then null. This is a Fisher-Yates shuffle on demand, so that memory grows with the
 * numbers drawn.
 */
export function shuffledOrder(seed, length, first = -1) {
  const random = generator(seed);
  const moved = new Map();
  let drawn = 0;
  const swap = (pick) => {
    const number = moved.get(pick) ?? pick;
    moved.set(pick, moved.get(drawn) ?? drawn);
    moved.delete(drawn);
    drawn += 1;
    return number;
  };
  let chosen = first >= 0 && first < length ? swap(first) : null;
  return {
    next() {
      if (chosen !== null) {
        const number = chosen;
        chosen = null;
        return number;
      }
      return drawn < length ? swap(drawn + Math.floor(random() * (length - drawn))) : null;
    },
    get remaining() {
      return length - drawn + (chosen === null ? 0 : 1);
    },
  };
}

/** Returns the index of the part that contains the tab. `parts` are [{start}], in order. */
export function partOfTab(parts, tab) {
  let low = 0;
  let high = parts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (parts[middle].start <= tab) low = middle;
    else high = middle - 1;
  }
  return low;
}
