// Owns the map page's text: the view, failures, and remedies. Does not depend on the DOM, or on
// when this text is shown.

/** Returns why there is no map, from the manifest's error, or from a manifest without a map. */
export function manifestWords(trouble, manifest, isOnline) {
  if (trouble === "network") {
    return isOnline ? "The network did not answer, so there is no map to show."
      : "You are offline: the map could not be loaded.";
  }
  if (trouble === "missing") return "No scan has been published here: manifest.json is missing.";
  if (!manifest) return "The map can't be read: manifest.json is not what it should be.";
  if (manifest.bundles === 0) return "No tabs yet, so there is no map of them.";
  return "This scan has no map. The next one may have; the tabs are on the wall.";
}

/** Returns what failed in the view, {words, action}: `action` is a button's label or "". */
export function troubleWords(trouble, isOnline) {
  if (trouble === "network") {
    const why = isOnline ? "The network did not answer." : "You are offline.";
    return { words: `${why} Some of what is in view is not there.`, action: "Try again" };
  }
  if (trouble === "missing") {
    const words = "A part of the map is no longer where it was. A newer scan may be out.";
    return { words, action: "Look for it" };
  }
  if (trouble) return { words: "A part of the map can't be read.", action: "Try again" };
  return { words: "", action: "" };
}

/** Returns how many of all tabs are visible. A part is an estimate, so three digits are enough. */
export function seenWords(seen, all) {
  if (all === 0) return "How many tabs are in view is not known.";
  if (seen >= all) return `All ${count(all)} tabs in view.`;
  return `${count(Number(seen.toPrecision(3)))} of ${count(all)} tabs in view.`;
}

/** Returns which bundle is in the view's middle, and whether its `tabs` (a number) are loaded. */
export function bundleWords(bundle, bundles, tabs, trouble) {
  const what = tabs !== undefined ? `${count(tabs)} tabs` : trouble ? "not loaded" : "loading";
  return `Bundle ${count(bundle + 1)} of ${count(bundles)}, in the middle of the view: ${what}.`;
}

function count(number) {
  return number.toLocaleString("en");
}
