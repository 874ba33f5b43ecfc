// Owns the endless line of tabs: bundles in their shuffled order, one behind the other, so that
// tab number i is the same tab for the whole visit however often its bundle was dropped.
// Invariants: bundles are joined in drawn order, each once; tabs held stay below a bound; a
// missing or broken bundle is set aside, a silent network stops the line until `resume`.
// Must not know: the DOM, rows, what a bundle's bytes look like.

const FETCHES_AT_ONCE = 4;
/** Held tabs weigh about 1.5 KB each: some 10 MB. */
const MAX_HELD_TABS = 6_000;
/** So many bad bundles in a row mean that the scan itself is gone. */
const MAX_BAD_IN_A_ROW = 6;

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
    while (flights.length < FETCHES_AT_ONCE && expected < this.wanted) {
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
