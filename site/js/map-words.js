// Owns what the map page says in words: what is in view, what failed and what to do.
// Must not know: the DOM, when something is said.

/** Why there is no map, from the trouble with the manifest, or the manifest without a map. */
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

/** What is wrong with what is in view, {words, action}: `action` is the label of a button or "". */
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

/** How many of all tabs are in view; a part is an estimate, of which three digits are enough. */
export function seenWords(seen, all) {
  if (all === 0) return "How many tabs are in view is not known.";
  if (seen >= all) return `All ${count(all)} tabs in view.`;
  return `${count(Number(seen.toPrecision(3)))} of ${count(all)} tabs in view.`;
}

/** Which bundle is in the middle of the view, and whether its `tabs` (a number) are there. */
export function bundleWords(bundle, bundles, tabs, trouble) {
  const what = tabs !== undefined ? `${count(tabs)} tabs` : trouble ? "not loaded" : "loading";
  return `Bundle ${count(bundle + 1)} of ${count(bundles)}, in the middle of the view: ${what}.`;
}

function count(number) {
  return number.toLocaleString("en");
}
