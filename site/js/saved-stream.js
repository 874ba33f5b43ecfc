// Owns what the history stores about a tab stream: which bundles it has appended, not their tabs.
// Does not depend on the DOM, or on who stores it.

/** At most this many bundles are saved: about half a million tabs. */
const MAX_PARTS = 4_000;

/** Returns the argument for `restoreStream`, a value that the history can store. */
export function saveStream({ parts, total }) {
  return { parts: parts.slice(0, MAX_PARTS), total: parts[MAX_PARTS]?.start ?? total };
}

/**
 * Numbers the saved bundles' tabs in a new stream with the same order, without loading them: `at`
 * loads visible ones.
 */
export function restoreStream(stream, saved) {
  Object.assign(stream, saved);
  const known = new Set(stream.parts.map(({ number }) => number));
  // Bundles that were drawn by lot but not appended are requested again.
  while (known.size > 0) {
    const number = stream.order.next();
    if (number === null) return;
    if (!known.delete(number)) stream.retries.push(number);
  }
}
