// This module computes the keys by which hostnames are sorted and found. They must be the same as
// in bundler/src/search/key.rs.

/**
 * One for names that start with a digit, one for each letter from a to z, and one for all others.
 */
const RANGES = 28;
const MAX_TYPED_CHARACTERS = 260;
/** Also matches a misspelt or partly copied scheme. */
const SCHEME = /^(?:[a-z][a-z0-9+.-]*:[/\\]+|(?:https?|mailto):|https?[/\\;]+|:?[/\\]+)/i;
/** Quotes, brackets and punctuation around a name. */
const AROUND = /^["'“”„‘’«»<>()[\]{}*]+|["'“”„‘’«»<>()[\]{}*,;!?]+$/g;

/** Returns a hostname's key: the name without "www.", with each xn-- label decoded. */
export function searchKey(hostname) {
  const name = withoutWww(hostname);
  if (!name.includes("xn--")) return name;
  return name.split(".").map((label) => decodeLabel(label) ?? label).join(".");
}

/**
 * Returns the typed or pasted text as the start of a key: the host in a URL or a sentence, without
 * quotes, scheme, user, port, final dots, "www." and path. Commas count as dots.
 */
export function typedKey(typed) {
  const name = typedHost(typed).replace(/^www\./, "");
  if (/^[\x21-\x7e]*$/.test(name) && !name.includes("xn--")) return name;
  try {
    // The browser converts international names according to IDNA.
    return searchKey(new URL(`https://${name}`).hostname);
  } catch {
    return name;
  }
}

/** Returns the host in typed or pasted text, in lower case, or its beginning, or "". */
export function typedHost(typed) {
  const words = typed.slice(0, MAX_TYPED_CHARACTERS).split(/\s+/)
    .map((word) => word.replace(AROUND, "")).filter(Boolean);
  // In a sentence, the host is the only word with a dot inside.
  const hosts = words.filter((word) => /[^.]\.[^.]/.test(word));
  const word = (hosts.length === 1 ? hosts[0] : words[0]) ?? "";
  const [authority] = word.replace(SCHEME, "").split(/[/\\?#]/);
  const host = authority.slice(authority.lastIndexOf("@") + 1).replace(/:\d*$/, "")
    .replace(/[,。．｡]/g, ".");
  const name = host.toLowerCase().normalize("NFC").replace(/^\.+/, "");
  // A dot after the first label belongs to the start of a name.
  return /\..*\.$/.test(name) ? name.replace(/\.+$/, "") : name;
}

/** Removes "www.", unless only a suffix would be left. */
export function withoutWww(hostname) {
  const rest = hostname.startsWith("www.") ? hostname.slice(4) : "";
  return rest.includes(".") ? rest : hostname;
}

/** Returns the number of the key's directory, 0 to 27. */
export function rangeOf(key) {
  if (/^[0-9]/.test(key)) return 0;
  return /^[a-z]/.test(key) ? key.charCodeAt(0) - 96 : RANGES - 1;
}

/** Compares keys by code points. UTF-8 has the same order, but UTF-16 has not. */
export function compareKeys(a, b) {
  for (let i = 0; i < a.length && i < b.length; i += 1) {
    const [x, y] = [a.codePointAt(i), b.codePointAt(i)];
    if (x !== y) return x - y;
    if (x > 0xffff) i += 1;
  }
  return a.length - b.length;
}

/**
 * Returns the files {first, end}, with an exclusive end, that may contain keys starting with
 * `start`. `firsts` are the first keys of all files. The first of these files is the last one whose
 * first key is before `start`.
 */
export function filesFor(firsts, start) {
  const count = (passes) => {
    let low = 0;
    let high = firsts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (passes(firsts[middle])) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const before = count((key) => compareKeys(key, start) < 0);
  const through = count((key) => compareKeys(key, start) < 0 || key.startsWith(start));
  return { first: Math.max(0, before - 1), end: through };
}

/**
 * Returns a file's first `most` entries {host, key, bundle, slot, rank, title} whose keys start
 * with `start`. For a host without a rank, `rank` is Infinity and `title` is "".
 */
export function linesFrom(text, start, most = Infinity) {
  const found = [];
  for (const line of text.split("\n")) {
    const [host, bundle, slot, rank, title] = line.split("\t");
    if (slot === undefined) continue;
    const key = searchKey(host);
    if (!key.startsWith(start)) continue;
    found.push({
      host, key, bundle: Number(bundle), slot: Number(slot), rank: Number(rank || Infinity),
      title: title ?? "",
    });
    if (found.length === most) break;
  }
  return found;
}

/** Decodes an xn-- label (RFC 3492). Returns null if it is not a valid one. */
export function decodeLabel(label) {
  if (!label.startsWith("xn--")) return null;
  const text = label.slice(4);
  const hyphen = text.lastIndexOf("-");
  const points = hyphen > 0 ? [...text.slice(0, hyphen)].map((c) => c.codePointAt(0)) : [];
  let [n, i, bias, at] = [128, 0, 72, hyphen > 0 ? hyphen + 1 : 0];
  while (at < text.length) {
    const from = i;
    for (let k = 36, weight = 1; ; k += 36) {
      const digit = "abcdefghijklmnopqrstuvwxyz0123456789".indexOf(text[at]);
      if (at >= text.length || digit < 0) return null;
      at += 1;
      i += digit * weight;
      if (i > 0xffffffff) return null;
      const threshold = Math.min(26, Math.max(1, k - bias));
      if (digit < threshold) break;
      weight *= 36 - threshold;
      if (weight > 0xffffffff) return null;
    }
    const length = points.length + 1;
    bias = adapt(i - from, length, from === 0);
    n += Math.floor(i / length);
    i %= length;
    if (n > 0x10ffff || (n >= 0xd800 && n <= 0xdfff) || n < 0xa0) return null;
    points.splice(i, 0, n);
    i += 1;
  }
  return points.length > 0 ? String.fromCodePoint(...points) : null;
}

function adapt(delta, length, first) {
  let rest = Math.floor(delta / (first ? 700 : 2));
  rest += Math.floor(rest / length);
  let k = 0;
  for (; rest > 455; k += 36) rest = Math.floor(rest / 35);
  return k + Math.floor((36 * rest) / (rest + 38));
}
