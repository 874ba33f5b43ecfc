// Owns randomness: seeds, shuffled orders, hashes. Invariant: the same seed and number of bundles
// give the same order in every browser. Must not know: the DOM, the network.

/** Returns a generator of numbers in [0, 1) from a 32-bit seed (mulberry32, public domain). */
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
 * Returns {next(), remaining}: `next` gives each number in 0..length-1 once, in shuffled order
 * after `first`, then null. A Fisher-Yates shuffle on demand: memory grows with the numbers drawn.
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

/** Returns a 32-bit hash of a string (FNV-1a, mixed once more); not secure. */
export function hash32(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}

/** Reads a location hash. Returns {seed}, or {seed, bundle, site} after a search, or null. */
export function readHash(locationHash) {
  const match = /^#seed=(\d{1,16})(?:&bundle=(\d{1,9})&site=([a-z0-9._-]{1,253}))?$/
    .exec(locationHash);
  if (!match) return null;
  const seed = seedOfNumber(Number(match[1]));
  return match[2] ? { seed, bundle: Number(match[2]), site: match[3] } : { seed };
}

/** Folds a number such as milliseconds since 1970 to a 32-bit seed. */
export function seedOfNumber(number) {
  return (Math.floor(number / 4294967296) ^ (number % 4294967296)) >>> 0;
}
