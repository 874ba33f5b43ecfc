// This module fits text into a picture. It cuts between grapheme clusters, so that emoji and
// letters with marks stay whole.

const FIRST_LETTER_RTL =
  /^\P{L}*[\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}\p{sc=Thaana}\p{sc=Nko}\p{sc=Adlam}]/u;
const ELLIPSIS = "…";

/** Returns "rtl" or "ltr" by the first letter, as `dir="auto"` does. */
export function directionOf(text) {
  return FIRST_LETTER_RTL.test(text) ? "rtl" : "ltr";
}

/**
 * Returns the characters as readers see them (grapheme clusters), or code points if the browser
 * cannot segment text.
 */
export function charactersOf(text) {
  // Firefox before version 125 has no Segmenter.
  if (!Intl.Segmenter) return [...text];
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

/**
 * Returns the first of `sizes`, in descending order, at which the text fits, or null.
 * `measure(text, size)` returns a width in pixels.
 */
export function sizeThatFits(text, sizes, maxPx, measure) {
  return sizes.find((size) => measure(text, size) <= maxPx) ?? null;
}

/**
 * Breaks a text into lines, between words if possible. A text that is too long ends with an
 * ellipsis. `measure(text)` returns a width in pixels.
 */
export function linesOf(text, maxPx, maxLines, measure) {
  const lines = brokenLines(text, maxPx, maxLines, measure);
  if (lines.length <= maxLines) return lines;
  const kept = lines.slice(0, maxLines);
  kept.push(cut(kept.pop(), maxPx, measure));
  return kept;
}

/** Like `linesOf`, but a hostname that is too long loses its start. */
export function hostLinesOf(host, maxPx, maxLines, measure) {
  const linesOfPart = (part) => brokenLines(part, maxPx, maxLines, measure);
  const short = shortenedHost(host, (part) => linesOfPart(part).length <= maxLines);
  return linesOfPart(short).slice(0, maxLines);
}

/**
 * Returns the longest end of a hostname that fits, after an ellipsis, or the whole name. The end is
 * kept because it contains the registered domain, which tells whose site this is.
 */
export function shortenedHost(host, fits) {
  if (fits(host)) return host;
  const characters = charactersOf(host);
  const end = (from) => ELLIPSIS + characters.slice(from).join("");
  let [tooFew, enough] = [0, characters.length];
  while (enough - tooFew > 1) {
    const removed = Math.floor((tooFew + enough) / 2);
    if (fits(end(removed))) enough = removed;
    else tooFew = removed;
  }
  return end(enough);
}

function brokenLines(text, maxPx, maxLines, measure) {
  const lines = [""];
  for (const word of text.split(/(?<=[\s/-])/u)) {
    if (measure(lines.at(-1) + word.trimEnd()) <= maxPx) {
      lines[lines.length - 1] += word;
      continue;
    }
    if (lines.at(-1) !== "") lines.push("");
    for (const character of charactersOf(word)) {
      const isFull = lines.at(-1) !== "" && measure(lines.at(-1) + character.trimEnd()) > maxPx;
      if (isFull) lines.push("");
      lines[lines.length - 1] += character;
    }
    if (lines.length > maxLines) break;
  }
  return lines.map((line) => line.trim());
}

function cut(line, maxPx, measure) {
  const characters = charactersOf(line);
  while (characters.length > 0 && measure(characters.join("") + ELLIPSIS) > maxPx) characters.pop();
  return characters.join("").trimEnd() + ELLIPSIS;
}
