// This module decides how a hostname is shown: each label in its own script if this is unambiguous,
// otherwise in Punycode. The rules are similar to those of browsers (Unicode Technical Standard
// 39).

import { decodeLabel } from "./search-keys.js";

/** Recommended scripts for identifiers (UAX 31, table 5). */
const SCRIPTS = ("Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek " +
  "Gujarati Gurmukhi Han Hangul Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam " +
  "Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan").split(" ");
/** The combinations in UTS 39's level "highly restrictive": Japanese, Chinese, Korean. */
const COMBINATIONS = [
  ["Latin", "Han", "Hiragana", "Katakana"],
  ["Latin", "Han", "Bopomofo"],
  ["Latin", "Han", "Hangul"],
];
const ALLOWED = [...SCRIPTS.map((script) => [script]), ...COMBINATIONS].map(ofScripts);

/**
 * Labels whose letters all look like Latin ones, by script. They are safe only if the top-level
 * domain contains this script, too.
 */
const LOOKS_LATIN = [
  [/^[асԁеһіјӏорԛѕԝхуъьҽпгѵѡүԍқҝһ0-9_-]+$/u, /\p{sc=Cyrillic}/u],
  [/^[αγικνορτυχωηκεϲϳ0-9_-]+$/u, /\p{sc=Greek}/u],
  [/^[ցզհնոսօքյւգա0-9_-]+$/u, /\p{sc=Armenian}/u],
];
/**
 * Latin letters from phonetic alphabets, old spellings and click languages, which UTS 39 restricts
 * because several look like a to z.
 */
const RESTRICTED = /[\u01bf-\u01c3\u0250-\u02af\u1d00-\u1dbf\ua720-\uab6f]/u;
/** Top-level domains whose languages use the dotless i. */
const DOTLESS_DOMAINS = ["tr", "az"];
/**
 * East Asian characters that look like a slash, a hyphen, a bar or a box if only Latin letters,
 * digits or hyphens are next to them.
 */
const LONE_SIGN = /(?:^|[a-z0-9-])[ノソゾンー一丨丶〇ニロ](?=$|[a-z0-9-])/u;

/** Returns a hostname as it is shown: `www.bücher.de`, but `xn--80ak6aa92e.com`. */
export function shownHost(hostname) {
  const labels = hostname.split(".");
  const top = decodeLabel(labels.at(-1)) ?? labels.at(-1);
  return labels.map((label) => {
    const decoded = decodeLabel(label);
    return decoded !== null && isSafe(decoded, top) ? decoded : label;
  }).join(".");
}

function isSafe(label, top) {
  if (!/^[\p{L}\p{M}\p{N}_-]+$/u.test(label) || RESTRICTED.test(label)) return false;
  if (label.includes("ı") && !DOTLESS_DOMAINS.includes(top)) return false;
  if (/[a-z]/.test(label) && LONE_SIGN.test(label)) return false;
  if (!ALLOWED.some((allowed) => allowed.test(label))) return false;
  return !LOOKS_LATIN.some(([letters, script]) =>
    letters.test(label) && script.test(label) && !script.test(top));
}

/** Matches labels in these scripts. Digits and marks fit any script. */
function ofScripts(scripts) {
  const classes = scripts.map((script) => `\\p{scx=${script}}`).join("");
  return new RegExp(`^[${classes}\\p{sc=Common}\\p{sc=Inherited}]+$`, "u");
}
