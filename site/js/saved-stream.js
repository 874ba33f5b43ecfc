// Owns what the history keeps of a stream of tabs: which bundles it has appended, not their tabs.
// Must not know: the DOM, who keeps it.

/** At most this many bundles are saved: about half a million tabs. */
const MAX_PARTS = 4_000;

/** Returns what `restoreStream` takes, a value that the history can keep. */
export function saveStream({ parts, total }) {
  return { parts: parts.slice(0, MAX_PARTS), total: parts[MAX_PARTS]?.start ?? total };
}

/**
 * Numbers the tabs of the saved bundles in a new stream of the same order, without loading them:
 * `at` loads what is seen.
 */
export function restoreStream(stream, saved) {
  Object.assign(stream, saved);
  const known = new Set(stream.parts.map(({ number }) => number));
  // What was drawn among them and not appended is requested again.
  while (known.size > 0) {
    const number = stream.order.next();
    if (number === null) return;
    if (!known.delete(number)) stream.retries.push(number);
  }
}
