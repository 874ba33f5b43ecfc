// This module saves which bundles a stream has appended, without their tabs, so that the browser's
// history can store this.

/** About half a million tabs. */
const MAX_PARTS = 4_000;

/** Returns data for `restoreStream`, which the browser's history can store. */
export function saveStream({ parts, total }) {
  return { parts: parts.slice(0, MAX_PARTS), total: parts[MAX_PARTS]?.start ?? total };
}

/**
 * Restores the saved bundles in a new stream with the same order, so that their tabs have the same
 * indices. It does not load them: `at` loads a bundle when its tabs are visible.
 */
export function restoreStream(stream, saved) {
  Object.assign(stream, saved);
  const known = new Set(stream.parts.map(({ number }) => number));
  // The saved stream appended later bundles of the order, but not these, so request them again.
  while (known.size > 0) {
    const number = stream.order.next();
    if (number === null) return;
    if (!known.delete(number)) stream.retries.push(number);
  }
}
