// This module stores in the history which bundles a stream has appended, but not their tabs.

/** About half a million tabs. */
const MAX_PARTS = 4_000;

/** Returns data for `restoreStream`, which the browser's history can store. */
export function saveStream({ parts, total }) {
  return { parts: parts.slice(0, MAX_PARTS), total: parts[MAX_PARTS]?.start ?? total };
}

/**
 * Gives the saved bundles' tabs their numbers in a new stream with the same order. It does not load
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
