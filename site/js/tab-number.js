// This module computes a tab's number in its scan: its position in the order of bundles and slots,
// counted from 1. A number is exact, or it is marked as an estimate and rounded to the digits that
// are known.

/**
 * Returns {number, isExact} for the tab at `index`, from 0, of the `count` tabs in `bundle`, or
 * null if the scan's number of tabs is unknown. `first` is the number of tabs in the bundles before
 * this one when the scan was published, or null if it is unknown.
 *
 * Without `first`, only the tabs in the first and the last bundle have an exact number. Numbers in
 * the last bundle are then counted back from the current total, so they change if tabs are removed
 * after publishing.
 *
 * Shards are slices of random hashes, so the number of tabs before a bundle differs from its share
 * of all tabs by about half the square root of all tabs (2,700 of 30 million). The estimate has no
 * digits below this error.
 */
export function tabNumber({ hosts, bundles }, { bundle, index, count }, first = null) {
  if (hosts === 0) return null;
  if (bundle === 0) return { number: index + 1, isExact: true };
  if (first === null && bundle === bundles - 1) {
    return { number: hosts - count + index + 1, isExact: true };
  }
  // If tabs were removed after publishing, the last numbers may exceed the current total.
  if (first !== null && first + index < hosts) {
    return { number: first + index + 1, isExact: true };
  }
  const estimate = hosts * bundle / bundles + index + 1;
  const step = 10 ** Math.floor(Math.log10(Math.max(1, Math.sqrt(hosts) / 2)));
  const number = Math.max(step, Math.round(estimate / step) * step);
  return { number: Math.min(number, hosts), isExact: false };
}

/**
 * Returns up to `most` neighbours [{tab, index}] of `tabs[index]`, from both sides in equal parts,
 * or more from one side near the bundle's ends.
 */
export function neighboursOf(tabs, index, most) {
  const first = Math.max(0, Math.min(index - Math.ceil(most / 2), tabs.length - 1 - most));
  return tabs.map((tab, at) => ({ tab, index: at }))
    .slice(first, first + most + 1).filter(({ index: at }) => at !== index);
}
