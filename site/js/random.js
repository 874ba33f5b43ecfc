// Owns chance: a seeded generator, an order of bundles without repeats, a hash for colours.
// Invariant: the same seed and the same number of bundles give the same order everywhere.
// Must not know: the DOM, the network, what a bundle holds.

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
 * The numbers 0..length-1 in shuffled order, one by one, each exactly once, then null.
 * Fisher-Yates drawn on demand: memory grows with what was drawn, not with `length`, so that
 * a quarter of a million bundles cost nothing until somebody scrolls to them.
 */
export function shuffledOrder(seed, length) {
  const random = generator(seed);
  const moved = new Map();
  let drawn = 0;
  return {
    next() {
      if (drawn >= length) return null;
      const pick = drawn + Math.floor(random() * (length - drawn));
      const number = moved.get(pick) ?? pick;
      moved.set(pick, moved.get(drawn) ?? drawn);
      moved.delete(drawn);
      drawn += 1;
      return number;
    },
    get remaining() {
      return length - drawn;
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

/** The seed named by a location hash such as "#seed=1767225600000", or null. */
export function seedOfHash(locationHash) {
  const match = /^#seed=(\d{1,16})$/.exec(locationHash);
  return match ? seedOfNumber(Number(match[1])) : null;
}

/** Folds a number of any size, such as milliseconds since 1970, to 32 bits. */
export function seedOfNumber(number) {
  return (Math.floor(number / 4294967296) ^ (number % 4294967296)) >>> 0;
}
