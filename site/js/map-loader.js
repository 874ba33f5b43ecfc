// Owns the map's data in memory: loads wanted items, the most important first, and caches them.
// Invariants: at most six requests are in flight; unwanted requests are aborted or not started; the
// cache stays below a byte limit, except for wanted items; failed items are not requested again
// until `retry`. Does not depend on the DOM, or on what is loaded.

const MAX_CONCURRENT = 6;

/** Loads values and caches them by key. */
export class MapLoader {
  #load;
  #onChange;
  #maxBytes;
  #wanted = [];
  #held = new Map();
  #running = new Map();
  #failed = new Map();

  /**
   * `load(key, signal)` resolves to {value, bytes} or {trouble}; `onChange` is called when
   * something was loaded or failed, and when `want` changes `busy` or `trouble`. Values with a
   * `close` method are closed when dropped.
   */
  constructor({ load, onChange, maxBytes }) {
    this.#load = load;
    this.#onChange = onChange;
    this.#maxBytes = maxBytes;
    this.bytes = 0;
  }

  /** Returns a key's value, or undefined. */
  get(key) {
    return this.#held.get(key)?.value;
  }

  /** Why a key could not be loaded: "network", "missing" or "broken"; else undefined. */
  troubleOf(key) {
    return this.#failed.get(key);
  }

  /** The first error among the wanted keys, or "". */
  get trouble() {
    const all = this.#wanted.map((key) => this.#failed.get(key)).filter(Boolean);
    return all.includes("network") ? "network" : all[0] ?? "";
  }

  /** True while a wanted item is being loaded. */
  get busy() {
    return this.#running.size > 0;
  }

  /** Sets the wanted keys, the most important first; other requests are aborted. */
  want(keys) {
    const { busy, trouble } = this;
    this.#wanted = keys;
    const wanted = new Set(keys);
    for (const [key, controller] of this.#running) {
      if (wanted.has(key)) continue;
      this.#running.delete(key);
      controller.abort();
    }
    for (const key of keys) {
      const one = this.#held.get(key);
      if (!one) continue;
      // Move the item to the end, so that the least recently wanted item is first.
      this.#held.delete(key);
      this.#held.set(key, one);
    }
    this.#drop(wanted);
    this.#begin();
    if (this.busy !== busy || this.trouble !== trouble) this.#onChange();
  }

  /** Requests failed items again. */
  retry() {
    this.#failed.clear();
    this.#begin();
  }

  /** Drops all items and aborts all requests. */
  release() {
    this.want([]);
    this.#maxBytes = 0;
    this.#drop(new Set());
  }

  #begin() {
    for (const key of this.#wanted) {
      if (this.#running.size >= MAX_CONCURRENT) return;
      if (this.#held.has(key) || this.#running.has(key) || this.#failed.has(key)) continue;
      void this.#run(key);
    }
  }

  async #run(key) {
    const controller = new AbortController();
    this.#running.set(key, controller);
    const loaded = await this.#load(key, controller.signal);
    // This request was aborted, and another one for the same key may have started since then.
    if (this.#running.get(key) !== controller) {
      loaded.value?.close?.();
      return;
    }
    this.#running.delete(key);
    if (loaded.trouble) this.#failed.set(key, loaded.trouble);
    else this.#hold(key, loaded);
    this.#begin();
    this.#onChange();
  }

  #hold(key, { value, bytes }) {
    this.#held.set(key, { value, bytes });
    this.bytes += bytes;
    this.#drop(new Set(this.#wanted));
  }

  #drop(wanted) {
    for (const [key, { value, bytes }] of this.#held) {
      if (this.bytes <= this.#maxBytes) return;
      if (wanted.has(key)) continue;
      this.#held.delete(key);
      this.bytes -= bytes;
      value.close?.();
    }
  }
}
