// This module draws tab groups: neighbours in a row that share a top-level domain, with a chip in
// the first one. The chip, or the key g, collapses or expands the group. Expanding it never shows a
// tab that the visitor closed.

import { shownHost } from "./host-name.js";
import { bitsOfRow, firstTabOfRow, tabsInRow } from "./layout.js";
import { TAB } from "./strings.js";

/** Groups are drawn this long after the last painting. */
const REST_MS = 150;
/**
 * The share of rows that may have a group. They have one only if neighbours also share a domain.
 */
const PART_OF_ROWS = 0.5;
const MOST_TABS = 4;
const COLOURS = 8;
const KEY = "g";

/**
 * Returns {at, count} for a row whose tabs have these top-level `domains`, from the row's 32 random
 * `bits`, or null if the row has no group. Other domains take precedence over .com, then longer
 * runs over shorter ones.
 */
export function groupOfRow(domains, bits) {
  if (bits / 2 ** 32 >= PART_OF_ROWS) return null;
  const runs = [];
  domains.forEach((domain, at) => {
    if (runs.at(-1)?.domain === domain) runs.at(-1).count += 1;
    else runs.push({ domain, at, count: 1 });
  });
  // A group that fills the row would be meaningless.
  const rank = ({ domain, count }) => Math.min(count, MOST_TABS) + (domain === "com" ? 0 : 8);
  const [best] = runs.filter(({ domain, count }) => domain && count > 1 && runs.length > 1)
    .sort((one, other) => rank(other) - rank(one));
  return best ? { at: best.at, count: Math.min(best.count, MOST_TABS) } : null;
}

/** A wall's tab groups. */
export class TabGroups {
  #page;
  #closing;
  #describe;
  #onToggle;
  #timer = 0;
  /** By row node: {number, members, domain, chip}. */
  #drawn = new Map();
  #hidden = new Map();
  #shown = null;
  #layout = null;
  #status = document.createElement("p");

  /**
   * `describe()` describes the painted tabs again; `onToggle(domain, members)` is called when the
   * visitor collapses or expands a group.
   */
  constructor(page, { closing, describe, onToggle }) {
    this.#page = page;
    this.#closing = closing;
    this.#describe = describe;
    this.#onToggle = onToggle;
    const { container } = page.wall;
    container.addEventListener("click", (event) => this.#click(event), true);
    container.addEventListener("keydown", (event) => this.#press(event));
    // Pressing the chip must not focus the link, because a focused link would stop its row.
    container.addEventListener("mousedown", (event) => {
      if (event.target.closest(".chip")) event.preventDefault();
    });
    this.#status.className = "unseen";
    this.#status.role = "status";
    container.after(this.#status);
  }

  /** Must be called after each painting. Groups are drawn when nothing was painted for a while. */
  painted() {
    const { shown, layout, wall } = this.#page;
    if (this.#drawn.size > 0) {
      for (const { node, number } of wall.rows) {
        const drawn = this.#drawn.get(node);
        if (drawn && drawn.number !== number) this.#hide(node);
      }
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#draw(), REST_MS);
    if (shown === this.#shown && layout === this.#layout) return;
    const isSameWall = shown === this.#shown;
    this.#shown = shown;
    this.#layout = layout;
    for (const { node } of wall.rows) this.#hide(node);
    const hidden = [...this.#hidden.values()].flat();
    this.#hidden.clear();
    if (!isSameWall || hidden.length === 0) return;
    wall.setClosed(new Set([...wall.closed].filter((index) => !hidden.includes(index))));
    this.#page.paint();
  }

  wordsOf(index) {
    const row = this.#page.wall.rowOf(index);
    const group = row && this.#drawn.get(row.node);
    if (group?.number !== row?.number || !group?.members.includes(index)) return "";
    return TAB.group(group.domain, this.#hiddenIn(row).length);
  }

  #hide(node) {
    const drawn = this.#drawn.get(node);
    if (!drawn) return;
    this.#drawn.delete(node);
    drawn.chip.remove();
    node.classList.remove("has-group");
    for (const link of node.querySelectorAll(".in-group")) {
      link.classList.remove("in-group", "has-chip");
    }
  }

  #hiddenIn({ number }) {
    const { closed } = this.#page.wall;
    return (this.#hidden.get(number) ?? []).filter((index) => closed.has(index));
  }

  #draw() {
    const { wall } = this.#page;
    for (const row of wall.rows) {
      const { number } = row;
      const hidden = this.#hiddenIn(row);
      // Forget tabs that were shown again, because the visitor may close them later, and expanding
      // the group must not show them then.
      if (this.#hidden.has(number)) this.#hidden.set(number, hidden);
      const group = this.#groupOf(row);
      const first = row.cells.find(({ index }) => group?.members.includes(index));
      if (group && !first && hidden.length > 0) this.#show(hidden);
      if (first) this.#drawIn(row, group, first.link);
      else this.#hide(row.node);
    }
    this.#describe();
  }

  /**
   * Returns {number, members, domain, colour}, or null if the row has no group or is still loading.
   */
  #groupOf({ number }) {
    const { layout, wall } = this.#page;
    const first = firstTabOfRow(layout, number);
    const tabs = Array.from({ length: tabsInRow(layout, number) }, (_, i) => wall.tabAt(first + i));
    if (!tabs.every(Boolean)) return null;
    const bits = bitsOfRow(number);
    const domains = tabs.map(({ host }) => host.slice(host.lastIndexOf(".") + 1));
    const run = groupOfRow(domains, bits);
    if (!run) return null;
    const members = Array.from({ length: run.count }, (_, i) => first + run.at + i);
    const domain = shownHost(domains[run.at]);
    return { number, members, domain, colour: (bits >>> 8) % COLOURS };
  }

  #drawIn(row, { number, members, domain, colour }, link) {
    const { node, cells } = row;
    const chip = this.#drawn.get(node)?.chip ?? newChip();
    this.#drawn.set(node, { number, members, domain, chip });
    const hidden = this.#hiddenIn(row).length;
    chip.textContent = `.${domain}${hidden > 0 ? ` +${hidden}` : ""}`;
    if (chip.parentNode !== link) link.prepend(chip);
    for (const cell of cells) {
      cell.link.classList.toggle("in-group", members.includes(cell.index));
      cell.link.classList.toggle("has-chip", cell.link === link);
    }
    node.dataset.colour = String(colour);
    node.classList.add("has-group");
  }

  #click(event) {
    const chip = event.button === 0 && event.target.closest(".chip");
    if (!chip) return;
    event.preventDefault();
    event.stopPropagation();
    this.#toggle(this.#page.wall.indexOf(chip));
  }

  #press(event) {
    const index = this.#page.wall.indexOf(event.target);
    const isPlain = !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
    if (index < 0 || !isPlain || event.key.toLowerCase() !== KEY) return;
    if (this.wordsOf(index) !== "") this.#toggle(index);
  }

  #toggle(index) {
    const { wall } = this.#page;
    const row = wall.rowOf(index);
    const { members, domain } = this.#drawn.get(row.node);
    const shown = members.filter((one) => wall.holds(row, one));
    const hidden = this.#hiddenIn(row);
    const isFocused = shown.includes(wall.indexOf(document.activeElement));
    // The first tab, which has the chip, and the open tab stay visible.
    const others = shown.slice(1).filter((one) => one !== wall.opened);
    this.#closing.slide(row, shown[0], () => {
      if (hidden.length > 0) {
        this.#show(hidden);
        return;
      }
      this.#hidden.set(row.number, others);
      for (const one of others) wall.closeTab(one, true);
      if (others.includes(wall.cursor)) wall.setCursor(shown[0]);
    });
    this.#draw();
    if (isFocused && !wall.holds(row, index)) wall.focus(shown[0]);
    this.#status.textContent = TAB.toggled(domain, hidden.length > 0);
    this.#onToggle(domain, members);
  }

  #show(hidden) {
    for (const index of hidden.toReversed()) this.#page.wall.closeTab(index, false);
    this.#page.paint();
  }
}

/**
 * A link must not contain a button, so the chip is for mouse and touch only. The key g does the
 * same.
 */
function newChip() {
  const chip = document.createElement("span");
  chip.className = "chip";
  chip.ariaHidden = "true";
  return chip;
}
