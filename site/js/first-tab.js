// This module loads the number of tabs before a bundle from the bundle's link page. It accepts a
// number only for the scan that is shown, and for a bundle in which no tab was skipped.

import { fetchFile } from "./bundles.js";

/** The `<html>` tag in bundler/src/link_page.rs. */
const FIELDS = / data-scan="([^"]*)" data-tabs="(\d+)" data-first="(\d{1,15})"/;
/** By the bundle's path; a promise while it is loading. */
const loaded = new Map();

/**
 * Returns how many tabs are in the bundles before `bundle`, of which `count` tabs are shown; null
 * if this is unknown or not loaded yet.
 */
export function loadedFirstTab(scene) {
  const first = loaded.get(keyOf(scene));
  return typeof first === "number" ? first : null;
}

/** Resolves to null if the link page lacks this number or cannot be fetched. */
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
