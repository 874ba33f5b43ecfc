// This module stores values for as long as this browser tab lasts. If the browser refuses storage,
// nothing is stored, and no error is thrown. js/page-skin.js reads two values directly.

/** Implements the Storage methods that we use. */
export const visitStorage = {
  getItem(key) {
    try {
      return sessionStorage.getItem(key);
    } catch {
      return null;
    }
  },

  setItem(key, text) {
    try {
      sessionStorage.setItem(key, text);
    } catch {
      // Storage is full or forbidden.
    }
  },
};

/** Returns null if the value is missing or cannot be parsed. */
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
