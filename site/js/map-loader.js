// This module loads the wanted items of the map, the most important first, and caches them. At most
// six requests are in flight. The cache exceeds its byte limit only for wanted items.

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
   * `load(key, signal)` resolves to {value, bytes} or {trouble}. `onChange` is called when a
   * request finishes, and when `want` changes `busy` or `trouble`. Values with a `close` method are
   * closed when they are dropped.
   */
  constructor({ load, onChange, maxBytes }) {
    this.#load = load;
    this.#onChange = onChange;
    this.#maxBytes = maxBytes;
    this.bytes = 0;
  }

  get(key) {
    return this.#held.get(key)?.value;
  }

  /** Returns "network", "missing" or "broken", or undefined if the key has not failed. */
  troubleOf(key) {
    return this.#failed.get(key);
  }

  /** "network" if a wanted key failed with it, otherwise the first wanted key's error, or "". */
  get trouble() {
    const all = this.#wanted.map((key) => this.#failed.get(key)).filter(Boolean);
    return all.includes("network") ? "network" : all[0] ?? "";
  }

  get busy() {
    return this.#running.size > 0;
  }

  /** Sets the wanted keys, the most important first, and aborts the requests for all other keys. */
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
      // Keep the least recently wanted item first.
      this.#held.delete(key);
      this.#held.set(key, one);
    }
    this.#drop(wanted);
    this.#begin();
    if (this.busy !== busy || this.trouble !== trouble) this.#onChange();
  }

  retry() {
    this.#failed.clear();
    this.#begin();
  }

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
