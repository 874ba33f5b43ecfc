// Owns what the map has in memory: loads what is wanted, the most important first, and keeps it.
// Invariants: at most six requests are under way; what is not wanted any more is aborted, or not
// begun; what is kept stays below a number of bytes, but for what is wanted now; what failed is not
// asked for again until `retry`. Must not know: the DOM, what is loaded.

const MAX_CONCURRENT = 6;

/** Loads and keeps values by key. */
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

  /** The value of a key, or undefined. */
  get(key) {
    return this.#held.get(key)?.value;
  }

  /** Why a key could not be loaded: "network", "missing" or "broken"; else undefined. */
  troubleOf(key) {
    return this.#failed.get(key);
  }

  /** The first trouble among the keys that are wanted, or "". */
  get trouble() {
    const all = this.#wanted.map((key) => this.#failed.get(key)).filter(Boolean);
    return all.includes("network") ? "network" : all[0] ?? "";
  }

  /** True while something that is wanted is being loaded. */
  get busy() {
    return this.#running.size > 0;
  }

  /** Says which keys are wanted now, the most important first; others are aborted. */
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
      // Moves it to the end: the first is the one least recently wanted.
      this.#held.delete(key);
      this.#held.set(key, one);
    }
    this.#drop(wanted);
    this.#begin();
    if (this.busy !== busy || this.trouble !== trouble) this.#onChange();
  }

  /** Asks again for what failed. */
  retry() {
    this.#failed.clear();
    this.#begin();
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
    // Another request for the key may have begun since this one was aborted.
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
