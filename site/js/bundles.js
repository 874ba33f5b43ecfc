// Owns the formats: checks and reads manifest.json and bundles, and fetches them.
// Invariants: a tab that leaves this module links to http or https, its icon is a small PNG or
// none, its title has no control characters; a failed fetch is a value, never an exception.
// Must not know: the DOM, the order of bundles.

const MAX_URL_CHARACTERS = 2048;
const MAX_TITLE_CHARACTERS = 300;
const MAX_ICON_CHARACTERS = 64 * 1024;
const MAX_ICON_SIDE_PX = 128;
const MAX_ENTRIES = 10_000;
const MAX_BUNDLES = 100_000_000;
const FETCH_TIMEOUT_MS = 20_000;
/** A PNG in base64: its signature, and the length and name of its first chunk. */
const PNG_BASE64 = /^iVBORw0KGgoAAAANSUhEUg[A-Za-z0-9+/]+={0,2}$/;
const PLAIN_PATH = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*\/?$/;
/** Private hosts, and all addresses. */
const PRIVATE = /^([^.]+|[\d.]+|.+\.(local(host)?|internal))\.?$/;
const INVISIBLE_ONLY = /^[\p{Z}\p{Cc}\p{Cf}\p{Cs}\p{M}\u2800\u3164\u115f\u1160\uffa0]*$/u;

/** Reads a parsed manifest.json: its fields, with `overrides` a Map, or null if it is invalid. */
export function readManifest(value) {
  if (!isObject(value)) return null;
  const { bundles, prefix } = value;
  if (!isCount(bundles) || bundles > MAX_BUNDLES) return null;
  if (typeof prefix !== "string" || !isPlainPath(prefix) || !prefix.endsWith("/")) return null;
  const overrides = new Map();
  if (isObject(value.overrides)) {
    for (const [number, path] of Object.entries(value.overrides)) {
      const plain = typeof path === "string" && isPlainPath(path) && path.endsWith(".json");
      if (/^\d{1,9}$/.test(number) && plain) overrides.set(Number(number), path);
    }
  }
  return {
    scan: textOf(value.scan),
    crawl: textOf(value.crawl),
    bundles,
    prefix,
    hosts: isCount(value.hosts) ? value.hosts : 0,
    contact: readContact(value.contact),
    overrides,
  };
}

/**
 * Returns the path of a bundle below the site's root; a takedown overrides it. `bundle_name` in
 * bundler/src/manifest.rs and `bundle_path` in bundler/src/object_names.rs have the same rule.
 */
export function bundlePath(manifest, number) {
  return manifest.prefix + (manifest.overrides.get(number) ?? `tabs/${number}.json`);
}

/** Reads a parsed bundle. Returns its valid tabs, or null if it is no bundle. */
export function readBundle(value) {
  if (!isObject(value) || !Array.isArray(value.entries)) return null;
  return value.entries.slice(0, MAX_ENTRIES).map(readEntry).filter((tab) => tab !== null);
}

/** Reads one entry. Returns {url, host, title, icon, frameable}, or null if it is invalid. */
export function readEntry(entry) {
  if (!isObject(entry) || typeof entry.url !== "string") return null;
  if (entry.url.length > MAX_URL_CHARACTERS) return null;
  let url;
  try {
    url = new URL(entry.url);
  } catch {
    return null;
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  if (url.username !== "" || url.password !== "" || url.hostname === "") return null;
  return {
    url: url.href,
    host: url.hostname,
    title: readTitle(entry.title) || url.hostname,
    icon: readIcon(entry.icon),
    frameable: entry.iframe_ok === true && url.protocol === "https:" && !PRIVATE.test(url.hostname),
  };
}

/** Returns the title for one line, without control and direction characters; "" if invisible. */
export function readTitle(title) {
  if (typeof title !== "string") return "";
  const line = title
    .slice(0, 4 * MAX_TITLE_CHARACTERS)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ")
    .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "")
    .trim();
  if (INVISIBLE_ONLY.test(line)) return "";
  const characters = [...line];
  return characters.length > MAX_TITLE_CHARACTERS
    ? characters.slice(0, MAX_TITLE_CHARACTERS).join("")
    : line;
}

/** Returns a base64 PNG of at most 128 x 128 pixels as a data URL, or "" for anything else. */
export function readIcon(icon) {
  if (typeof icon !== "string" || icon.length > MAX_ICON_CHARACTERS) return "";
  if (icon.length < 32 || icon.length % 4 !== 0 || !PNG_BASE64.test(icon)) return "";
  // Bytes 16 to 23 are width and height: a small file may decode to a huge image.
  const head = atob(icon.slice(0, 32));
  const side = (at) =>
    [0, 1, 2, 3].reduce((sum, i) => sum * 256 + head.charCodeAt(at + i), 0);
  const fits = (px) => px > 0 && px <= MAX_ICON_SIDE_PX;
  return fits(side(16)) && fits(side(20)) ? `data:image/png;base64,${icon}` : "";
}

/**
 * Fetches JSON. Resolves to {value}, or to {trouble}: "missing" (the server refuses), "broken" (no
 * JSON) or "network" (no answer, or a busy server). `fresh` does not trust the browser's cache.
 */
export async function fetchJson(url, fresh = false, fetcher = globalThis.fetch) {
  const options = { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) };
  if (fresh) options.cache = "no-cache";
  let body;
  try {
    const response = await fetcher(url, options);
    if (response.status >= 500 || response.status === 429) return { trouble: "network" };
    if (!response.ok) return { trouble: "missing" };
    body = await response.text();
  } catch {
    return { trouble: "network" };
  }
  try {
    return { value: JSON.parse(body) };
  } catch {
    return { trouble: "broken" };
  }
}

/** The mailto: or https: address for reports, else "". */
function readContact(contact) {
  return /^(?:mailto:[^?]+@[^?]+|https:\/\/.+)$/.test(contact) ? textOf(contact) : "";
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value) {
  return Number.isSafeInteger(value) && value >= 0;
}

function textOf(value) {
  return typeof value === "string" ? value.slice(0, 100) : "";
}

/** True if the path stays below the site's root. */
function isPlainPath(path) {
  return path.length <= 200 && PLAIN_PATH.test(path);
}
