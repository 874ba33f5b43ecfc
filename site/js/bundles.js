// Owns the formats: reading manifest.json and bundles, whatever they hold, and fetching them.
// Invariants: what leaves this module has links to http and https only, icons that are small
// PNGs only, titles that can't turn a line around; a fetch gives a value, never an exception.
// Must not know: the DOM, the order of bundles.

const MAX_URL_CHARACTERS = 2048;
const MAX_TITLE_CHARACTERS = 300;
const MAX_ICON_CHARACTERS = 64 * 1024;
const MAX_ICON_SIDE_PX = 128;
const MAX_ENTRIES = 10_000;
const MAX_BUNDLES = 100_000_000;
const FETCH_TIMEOUT_MS = 20_000;
/** The first 8 bytes of every PNG and the length and name of its first chunk, in base64. */
const PNG_BASE64 = /^iVBORw0KGgoAAAANSUhEUg[A-Za-z0-9+/]+={0,2}$/;
const PLAIN_PATH = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*\/?$/;
const INVISIBLE_ONLY = /^[\p{Z}\p{Cc}\p{Cf}\p{Cs}\p{M}\u2800\u3164\u115f\u1160\uffa0]*$/u;

/** Reads a parsed manifest.json. Returns the manifest, or null when it is not one. */
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

/** The path of a bundle relative to the site's root; a takedown's override wins. */
export function bundlePath(manifest, number) {
  return manifest.prefix + (manifest.overrides.get(number) ?? `tabs/${number}.json`);
}

/** Reads a parsed bundle. Returns its tabs, bad entries left out, or null: not a bundle. */
export function readBundle(value) {
  if (!isObject(value) || !Array.isArray(value.entries)) return null;
  return value.entries.slice(0, MAX_ENTRIES).map(readEntry).filter((tab) => tab !== null);
}

/** Reads one entry. Returns {url, host, title, icon, frameable}, or null: no tab. */
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
    frameable: entry.iframe_ok === true && url.protocol === "https:",
  };
}

/** A title fit to stand on one line: no control or direction characters, not too long. */
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

/** The icon as a data URL, or "" when it is not a base64 PNG of a tab's size. */
export function readIcon(icon) {
  if (typeof icon !== "string" || icon.length > MAX_ICON_CHARACTERS) return "";
  if (icon.length < 32 || icon.length % 4 !== 0 || !PNG_BASE64.test(icon)) return "";
  // Width and height are bytes 16 to 23: a small file may claim to be a huge picture.
  const head = atob(icon.slice(0, 32));
  const side = (at) =>
    [0, 1, 2, 3].reduce((sum, i) => sum * 256 + head.charCodeAt(at + i), 0);
  const fits = (px) => px > 0 && px <= MAX_ICON_SIDE_PX;
  return fits(side(16)) && fits(side(20)) ? `data:image/png;base64,${icon}` : "";
}

/**
 * Fetches JSON. Returns {value}, or {trouble}: "missing" (the server says no), "broken" (not
 * JSON) or "network" (no answer). `fresh` asks the server even where a copy is at hand.
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

/** The address for reports: mailto: or https:, else "". */
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

/** A path that stays below the site's root, whatever the manifest says. */
function isPlainPath(path) {
  return path.length <= 200 && PLAIN_PATH.test(path);
}
