// Owns how text is fitted into a picture: its size, its line breaks, its direction. Invariant: text
// is cut between characters as readers see them, never inside an emoji or a letter with marks. Does
// not depend on the canvas: the caller measures.

/** Characters that are written from right to left: Hebrew, Arabic, Syriac, Thaana, N'Ko, Adlam. */
const FIRST_LETTER_RTL =
  /^\P{L}*[\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}\p{sc=Thaana}\p{sc=Nko}\p{sc=Adlam}]/u;
const ELLIPSIS = "…";

/** Returns the direction of a text by its first letter, as `dir="auto"` does: "rtl" or "ltr". */
export function directionOf(text) {
  return FIRST_LETTER_RTL.test(text) ? "rtl" : "ltr";
}

/** Returns a text's characters as readers see them (grapheme clusters). */
export function charactersOf(text) {
  // Firefox before version 125 has no Segmenter.
  if (!Intl.Segmenter) return [...text];
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

/**
 * Returns the first of `sizes`, in descending order, at which the text fits into `maxPx` pixels;
 * null if there is none. `measure(text, size)` returns a width in pixels.
 */
export function sizeThatFits(text, sizes, maxPx, measure) {
  return sizes.find((size) => measure(text, size) <= maxPx) ?? null;
}

/**
 * Breaks a text into at most `maxLines` lines of at most `maxPx` pixels, between words if possible.
 * A text that is too long ends with an ellipsis. `measure(text)` returns a width in pixels.
 */
export function linesOf(text, maxPx, maxLines, measure) {
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
  const kept = lines.slice(0, maxLines).map((line) => line.trim());
  if (lines.length > maxLines) kept.push(cut(kept.pop(), maxPx, measure));
  return kept;
}

/** Returns the beginning of a line with an ellipsis, together at most `maxPx` pixels wide. */
function cut(line, maxPx, measure) {
  const characters = charactersOf(line);
  while (characters.length > 0 && measure(characters.join("") + ELLIPSIS) > maxPx) characters.pop();
  return characters.join("").trimEnd() + ELLIPSIS;
}
