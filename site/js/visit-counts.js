// This module counts the sites that the visitor has found and opened in this browser tab, and how
// often something was shared. A site counts once, even after a reload.

import { readVisit, writeVisit } from "./visit-storage.js";

const KEY = "visit";
/** Each list has at most this many sites, about 30 KB in total. Further sites are not counted. */
const MAX_SITES = 500;

/** Returns the hosts that were found and opened, and how often something was shared. */
export function visitCounts() {
  const stored = readVisit(KEY);
  const hosts = (name) => (Array.isArray(stored?.[name]) ? stored[name] : [])
    .filter((host) => typeof host === "string").slice(0, MAX_SITES);
  const isCount = Number.isSafeInteger(stored?.shared) && stored.shared > 0;
  return { found: hosts("found"), opened: hosts("opened"), shared: isCount ? stored.shared : 0 };
}

/** Counts a site that the visitor found. */
export function countFound(host) {
  countSite("found", host);
}

/** Counts a site that the visitor opened. */
export function countOpened(host) {
  countSite("opened", host);
}

/** Counts one use of Share. */
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
