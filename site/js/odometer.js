// This module counts the tabs that the visitor has seen, and shows how far down the view is. The
// visitor can switch this off. With reduced motion no number changes while the page scrolls.

import { firstTabOfRow } from "./layout.js";
import { heightsWithin, heightText, paceText, SeenTabs, seenText } from "./seen-tabs.js";
import { partOfTab } from "./stream.js";
import { SEEN } from "./strings.js";
import { readVisit, writeVisit } from "./visit-storage.js";

const STORED = "everytab-seen";
/** The delay between a paint and the count of the visible tabs. */
const COUNT_MS = 200;
/** With reduced motion, the number changes this long after the last paint. */
const REST_MS = 700;
const SENTENCE_MS = 10_000;

/** Counts the seen tabs. */
export class Odometer {
  #page;
  #bar;
  #seen = null;
  #parts;
  #endRow = 0;
  #countTimer = 0;
  #restTimer = 0;
  #sentenceTimer = 0;
  #reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(page, bar) {
    const stored = readVisit(STORED);
    if (stored === "off") return;
    this.#page = page;
    this.#bar = bar;
    this.#seen = new SeenTabs(page.manifest.prefix, stored);
    this.#parts = appendParts(bar);
    this.#parts.off.addEventListener("click", () => this.#switchOff());
    window.addEventListener("pagehide", () => this.#save());
    document.addEventListener("visibilitychange", () => document.hidden && this.#save());
  }

  /** The SeenTabs, or null if the visitor switched the count off. */
  get seen() {
    return this.#seen;
  }

  /** Must be called after each paint. */
  painted() {
    if (!this.#seen) return;
    if (this.#page.view.scrolledPx <= 0) this.#bar.classList.remove("below-top");
    this.#countTimer ||= setTimeout(() => this.#countVisible(), COUNT_MS);
    if (!this.#reducedMotion.matches) return;
    clearTimeout(this.#restTimer);
    this.#restTimer = setTimeout(() => {
      this.#restTimer = 0;
      this.#update();
    }, REST_MS);
  }

  #countVisible() {
    this.#countTimer = 0;
    const { wall, stream, layout, view, manifest } = this.#page;
    if (!this.#seen || !stream || !layout || document.hidden) return;
    if (this.#seen.scan !== manifest.prefix) this.#seen = new SeenTabs(manifest.prefix);
    const { count } = this.#seen;
    // A row counts if more than half of it is in view.
    const first = Math.round(wall.positions.rowAt(view.scrolledPx));
    const end = Math.round(wall.positions.rowAt(view.scrolledPx + view.heightPx));
    const rows = wall.rows.filter(({ number }) => number >= first && number < end);
    for (const row of rows) this.#addRow(row, stream);
    // After a reload, the visible tabs are already counted, but the count is not shown yet.
    if (this.#seen.count === count && this.#bar.classList.contains("counting")) return;
    this.#endRow = end;
    if (!this.#reducedMotion.matches) this.#update();
  }

  #update() {
    if (!this.#seen) return;
    if (!this.#sentenceTimer) this.#bar.classList.remove("telling");
    this.#tellHeight(this.#endRow);
    this.#show();
  }

  /** A tab counts if its middle is in view. */
  #addRow(row, { parts }) {
    const { widthPx } = this.#page.layout;
    row.cells.forEach(({ index, tab }, column) => {
      const middle = row.lefts[column] + row.shiftPx + row.tabPx / 2;
      if (index < 0 || !tab || !(middle > 0 && middle < widthPx)) return;
      const { start, number } = parts[partOfTab(parts, index)];
      this.#seen.add(number, index - start, performance.now());
    });
  }

  #show() {
    if (!this.#seen || this.#seen.count === 0) return;
    const { hosts } = this.#page.manifest;
    const { count, pace } = this.#parts;
    write(count, seenText(this.#seen, hosts));
    write(pace, this.#sentenceTimer ? "" : paceText(this.#seen, hosts));
    this.#bar.classList.add("counting");
    // On a phone the count replaces the page's description, which is shown at the top.
    this.#bar.classList.toggle("below-top", this.#page.view.scrolledPx > 0);
  }

  #tellHeight(row) {
    const { layout, manifest, wall } = this.#page;
    const { rowHeightPx } = wall.positions;
    const heights = heightsWithin(row * rowHeightPx);
    if (heights <= this.#seen.heights || this.#sentenceTimer) return;
    this.#seen.heights = heights;
    // Without a host count the wall's length is unknown, and `rows` is 0.
    const rows = manifest.hosts / firstTabOfRow(layout, layout.counts.length) *
      layout.counts.length;
    const text = heightText(heights, rows * rowHeightPx);
    write(this.#parts.sentence, text);
    write(this.#parts.status, text);
    this.#bar.classList.add("telling");
    this.#sentenceTimer = setTimeout(() => {
      this.#sentenceTimer = 0;
      if (this.#restTimer) return;
      this.#bar.classList.remove("telling");
      this.#show();
    }, SENTENCE_MS);
  }

  #switchOff() {
    clearTimeout(this.#sentenceTimer);
    this.#seen = null;
    this.#bar.classList.remove("counting", "telling", "below-top");
    this.#parts.line.remove();
    writeVisit(STORED, "off");
    this.#page.wall.container.focus({ preventScroll: true });
  }

  #save() {
    if (this.#seen) writeVisit(STORED, this.#seen.save());
  }
}

/**
 * The visible sentence and the announced one are separate elements, because showing a hidden
 * element is not a layout shift, but moving an off-screen one into the bar would be.
 */
function appendParts(bar) {
  const line = document.createElement("div");
  line.className = "seen";
  const [count, pace, sentence, status] = ["count", "pace", "sentence", "status"].map((name) => {
    const part = document.createElement("span");
    part.className = `seen-${name}`;
    return part;
  });
  sentence.setAttribute("aria-hidden", "true");
  status.setAttribute("role", "status");
  status.classList.add("unseen");
  const off = document.createElement("button");
  off.type = "button";
  off.className = "seen-off";
  off.textContent = "×";
  off.title = SEEN.hide;
  off.setAttribute("aria-label", SEEN.hideTabs);
  line.append(count, pace, sentence, status, off);
  bar.append(line);
  return { line, count, pace, sentence, status, off };
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
