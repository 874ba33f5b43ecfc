// This module loads the number of tabs before a bundle from the bundle's link page. It accepts a
// number only for the scan that is shown, and for a bundle in which no tab was skipped.

import { fetchFile } from "./bundles.js";

/** These attributes are in the `<html>` tag that bundler/src/link_page.rs writes. */
const FIELDS = / data-scan="([^"]*)" data-tabs="(\d+)" data-first="(\d{1,15})"/;
/** Numbers by the result of `keyOf`, or a promise while a number is loading. */
const loaded = new Map();

/**
 * Returns the number of tabs in the bundles before the scene's `bundle`, or null if it is unknown
 * or not loaded yet. `count` is the number of tabs in `bundle`.
 */
export function loadedFirstTab(scene) {
  const first = loaded.get(keyOf(scene));
  return typeof first === "number" ? first : null;
}

/** Resolves to this number, or to null if the link page lacks it or cannot be fetched. */
export async function loadFirstTab(scene) {
  const key = keyOf(scene);
  if (!loaded.has(key)) loaded.set(key, fetchFirstTab(scene));
  const first = await loaded.get(key);
  // After a failure, the next card tries again.
  if (first === null) loaded.delete(key);
  else loaded.set(key, first);
  return first;
}

const keyOf = ({ manifest, bundle, count }) => `${manifest.prefix}${bundle}/${count}`;

async function fetchFirstTab({ manifest, bundle, count }) {
  const { value = "" } = await fetchFile(`t/${bundle}.html`, { read: (page) => page.text() });
  const [, prefix, tabs, first] = FIELDS.exec(value) ?? [];
  return prefix === manifest.prefix && Number(tabs) === count ? Number(first) : null;
}
