// Owns which sites the visitor has found and opened, and how often something was shared, in this
// browser tab. Invariants: a site counts once, also after a reload; the stored data has a limit.
// Does not depend on the DOM, or on how a site is found or shared.

import { readVisit, writeVisit } from "./visit-storage.js";

const KEY = "visit";
/** Maximum hostnames per list, about 30 KB in total. Further sites are not counted. */
const MAX_SITES = 500;

/** Returns the hosts that were found and opened, and how often something was shared. */
export function visitCounts() {
  const stored = readVisit(KEY);
  const hosts = (name) => (Array.isArray(stored?.[name]) ? stored[name] : [])
    .filter((host) => typeof host === "string").slice(0, MAX_SITES);
  const isCount = Number.isSafeInteger(stored?.shared) && stored.shared > 0;
  return { found: hosts("found"), opened: hosts("opened"), shared: isCount ? stored.shared : 0 };
}

/** Counts a site that the visitor found by a search, the map or a link. */
export function countFound(host) {
  countSite("found", host);
}

/** Counts a site that the visitor opened. */
export function countOpened(host) {
  countSite("opened", host);
}

/** Counts that the visitor shared something. */
export function countShared() {
  const counts = visitCounts();
  writeVisit(KEY, { ...counts, shared: counts.shared + 1 });
}

function countSite(list, host) {
  const counts = visitCounts();
  if (counts[list].includes(host) || counts[list].length >= MAX_SITES) return;
  counts[list].push(host);
  writeVisit(KEY, counts);
}
