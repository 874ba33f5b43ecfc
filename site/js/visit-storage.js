// Owns the session's storage, which lasts as long as this browser tab. Invariant: if the browser
// refuses storage, nothing is stored, and no error is thrown. js/page-skin.js, which is not a
// module, reads two values directly. Does not depend on what is stored.

/** Implements the Storage methods that we use. */
export const visitStorage = {
  /** Returns the stored text, or null. */
  getItem(key) {
    try {
      return sessionStorage.getItem(key);
    } catch {
      return null;
    }
  },

  /** Stores a string. */
  setItem(key, text) {
    try {
      sessionStorage.setItem(key, text);
    } catch {
      // Storage is full or forbidden.
    }
  },
};

/** Returns the stored JSON value; null if it is missing or cannot be parsed. */
export function readVisit(key) {
  try {
    return JSON.parse(visitStorage.getItem(key));
  } catch {
    return null;
  }
}

/** Stores a value as JSON. */
export function writeVisit(key, value) {
  visitStorage.setItem(key, JSON.stringify(value));
}
