// Owns the session's storage, which lasts as long as the tab of the browser. Invariant: where the
// browser refuses storage, nothing is kept, and nothing is thrown. js/page-skin.js, which is no
// module, reads two of the values by itself. Must not know: what is kept.

/** Has the methods of a Storage that are used. */
export const visitStorage = {
  /** Returns the text that was kept, or null. */
  getItem(key) {
    try {
      return sessionStorage.getItem(key);
    } catch {
      return null;
    }
  },

  /** Keeps a text. */
  setItem(key, text) {
    try {
      sessionStorage.setItem(key, text);
    } catch {
      // There is no room, or storage is forbidden.
    }
  },
};

/** Returns the value that was kept as JSON; null if there is none or it cannot be read. */
export function readVisit(key) {
  try {
    return JSON.parse(visitStorage.getItem(key));
  } catch {
    return null;
  }
}

/** Keeps a value as JSON. */
export function writeVisit(key, value) {
  visitStorage.setItem(key, JSON.stringify(value));
}
