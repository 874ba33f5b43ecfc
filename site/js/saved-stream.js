// Owns what the history stores about a tab stream: which bundles it has appended, not their tabs.
// Does not depend on the DOM, or on who stores it.

/** At most this many bundles are saved: about half a million tabs. */
const MAX_PARTS = 4_000;

/** Returns the data for `restoreStream`. The browser's history can store them. */
export function saveStream({ parts, total }) {
  return { parts: parts.slice(0, MAX_PARTS), total: parts[MAX_PARTS]?.start ?? total };
}

/**
 * Gives the saved bundles' tabs their numbers in a new stream with the same order, without loading
 * them: `at` loads a bundle when its tabs are visible.
 */
export function restoreStream(stream, saved) {
  Object.assign(stream, saved);
  const known = new Set(stream.parts.map(({ number }) => number));
  // The order has already returned these bundles, but they were not appended, so request them
  // again.
  while (known.size > 0) {
    const number = stream.order.next();
    if (number === null) return;
    if (!known.delete(number)) stream.retries.push(number);
  }
}
