// Owns the endless line of tabs: chance draws the order of the bundles, and they are joined one
// behind the other, so that tab number i is the same tab for the whole visit.
// Invariants: the same seed and number of bundles give the same order everywhere; bundles are
// joined in drawn order, each once; tabs held stay below a bound; a missing or broken bundle is
// set aside, a silent network stops the line until `resume`.
// Must not know: the DOM, rows, what a bundle's bytes look like.

const FETCHES_AT_ONCE = 4;
/** Held tabs weigh about 1.5 KB each: some 10 MB. */
const MAX_HELD_TABS = 6_000;
/** So many bad bundles in a row mean that the scan itself is gone. */
const MAX_BAD_IN_A_ROW = 6;

/** A generator of numbers in [0, 1) from a 32-bit seed (mulberry32, public domain). */
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
 * The numbers 0..length-1 in shuffled order, one by one, each exactly once, then null; `first`
 * comes first if it is one of them. Fisher-Yates drawn on demand: memory grows with what was
 * drawn, not with `length`, so that a quarter of a million bundles cost nothing until somebody
 * scrolls to them.
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

/** 32-bit FNV-1a of a string's UTF-16 units: spreads colours, protects nothing. */
export function hash32(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}

/**
 * What a location hash such as "#seed=1767225600000" asks for: {seed}, or {seed, bundle, site}
 * where a search led to a site; null where it is none of ours.
 */
export function readHash(locationHash) {
  const match = /^#seed=(\d{1,16})(?:&bundle=(\d{1,9})&site=([a-z0-9._-]{1,253}))?$/
    .exec(locationHash);
  if (!match) return null;
  const seed = seedOfNumber(Number(match[1]));
  return match[2] ? { seed, bundle: Number(match[2]), site: match[3] } : { seed };
}

/** Folds a number of any size, such as milliseconds since 1970, to 32 bits. */
export function seedOfNumber(number) {
  return (Math.floor(number / 4294967296) ^ (number % 4294967296)) >>> 0;
}

/**
 * `order` draws bundle numbers; `fetchTabs(number, again)` answers {tabs} or {trouble}, `again`
 * where a stored copy may be the bad one; `onChange` is called whenever more can be shown.
 * `tabsABundle` is a first guess, mended as bundles come.
 */
export class TabStream {
  constructor({ order, fetchTabs, onChange, tabsABundle = 100, maxHeldTabs = MAX_HELD_TABS }) {
    this.order = order;
    this.fetchTabs = fetchTabs;
    this.onChange = onChange;
    this.guess = Math.max(1, tabsABundle);
    this.maxHeldTabs = maxHeldTabs;
    this.total = 0;
    /** Why the line stands still: "", "network", or "missing" when too much is missing. */
    this.trouble = "";
    /** Bundles that were missing or broken; `resume` tries them again. */
    this.skipped = [];
    this.parts = [];
    this.again = [];
    this.held = new Map();
    this.heldTabs = 0;
    this.asked = new Set();
    this.filling = false;
    this.wanted = 0;
    this.badInARow = 0;
    this.closed = false;
  }

  /** True when every bundle has been joined or set aside. */
  get ended() {
    return this.order.remaining === 0 && this.again.length === 0 && !this.filling;
  }

  /** Loads on until `wanted` tabs are known, the line ends, or trouble comes. */
  async fillTo(wanted) {
    this.wanted = Math.max(this.wanted, wanted);
    if (this.filling || this.closed || this.trouble !== "" || this.ended) return;
    if (this.total >= this.wanted) return;
    this.filling = true;
    const flights = [];
    while (this.trouble === "" && !this.closed) {
      this.#depart(flights);
      if (flights.length === 0) break;
      const { number, answer } = flights[0];
      const { tabs, trouble } = await answer;
      if (trouble === "network") {
        this.trouble = "network";
        break;
      }
      flights.shift();
      if (trouble) this.#setAside(number);
      else this.#join(number, tabs);
      if (!this.closed) this.onChange();
    }
    // What has not been joined is asked for again, in the same order.
    this.again.unshift(...flights.map((flight) => flight.number));
    this.filling = false;
    if (!this.closed) this.onChange();
  }

  /** The tab with this number; undefined while its bundle is on its way or unknown. */
  at(index) {
    if (index < 0 || index >= this.total) return undefined;
    const part = this.parts[partOfTab(this.parts, index)];
    const tabs = this.held.get(part.number);
    if (tabs === undefined) {
      this.#fetchBack(part.number);
      return undefined;
    }
    // Taken out and put back, it stands last: the map's first is the longest unused.
    this.held.delete(part.number);
    this.held.set(part.number, tabs);
    return tabs[index - part.start];
  }

  /** The number of the first tab held whose hostname it is, or -1. */
  indexOf(host) {
    for (const { start, number } of this.parts) {
      const slot = this.held.get(number)?.findIndex((tab) => tab.host === host) ?? -1;
      if (slot >= 0) return start + slot;
    }
    return -1;
  }

  /** After trouble: tries again, also the bundles that were set aside. */
  resume() {
    this.trouble = "";
    this.badInARow = 0;
    this.again.push(...this.skipped.splice(0));
    this.onChange();
    return this.fillTo(this.total + 1);
  }

  /** Ends the line: nothing that is still on its way calls back. */
  close() {
    this.closed = true;
  }

  #depart(flights) {
    let expected = this.total + flights.length * this.guess;
    // The first bundle is not to share the line with those below the view.
    const most = this.total === 0 ? 1 : FETCHES_AT_ONCE;
    while (flights.length < most && expected < this.wanted) {
      const again = this.again.shift();
      const number = again ?? this.order.next();
      if (number === null) return;
      flights.push({ number, answer: this.fetchTabs(number, again !== undefined) });
      expected += this.guess;
    }
  }

  #setAside(number) {
    this.skipped.push(number);
    this.badInARow += 1;
    if (this.badInARow >= MAX_BAD_IN_A_ROW) this.trouble = "missing";
  }

  #join(number, tabs) {
    this.badInARow = 0;
    if (tabs.length === 0) return;
    this.parts.push({ start: this.total, number });
    this.total += tabs.length;
    this.guess = Math.max(1, this.total / this.parts.length);
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

  async #fetchBack(number) {
    if (this.asked.has(number) || this.trouble === "network") return;
    this.asked.add(number);
    const { tabs, trouble } = await this.fetchTabs(number);
    this.asked.delete(number);
    if (this.closed) return;
    if (tabs) this.#hold(number, tabs);
    else if (trouble === "network") this.trouble = "network";
    else this.#hold(number, []);
    this.onChange();
  }
}

/** The index in `parts`, ordered by `start`, of the part that holds the tab. */
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
