// Owns the wall's nodes: a pool of rows that are painted, moved and painted again. A row is a belt
// of tabs, wider than the view: what left it at one edge stands at the other.
// Invariants: the pool is as large as the view asks for and no larger; at rest rows stand in the
// document as on the screen; strangers' text enters by textContent alone, their icons as
// data:image/png alone; one tab at a time can be tabbed to.
// Must not know: where tabs come from, what opening one means, how belts move.

import { activeColumn, firstTabOfRow, tabPxOfRow, tabsInRow } from "./layout.js";
import { hash32 } from "./stream.js";
import { driftOf, placeOnBelt, rowTop } from "./viewport.js";

const ROW_HUES = [215, 230, 200, 260, 180, 30, 220, 150];

export class TabWall {
  /** `tabAt(index)` gives a tab or undefined; `container` is the wall's empty element. */
  constructor(container, tabAt) {
    this.container = container;
    this.tabAt = tabAt;
    this.rows = [];
    this.spare = [];
    this.cells = new WeakMap();
    /** The tab that the keyboard stands on, the one whose page is open, the one searched for. */
    this.cursor = 0;
    this.opened = -1;
    this.found = -1;
    /** The room of an open site, {row, px}. */
    this.gap = null;
    /** Whether rows are to stand still; what is called before a row's belt is laid anew. */
    this.still = false;
    this.beforeMove = () => {};
  }

  /** Starts anew with the layout: every row node is dropped. */
  setLayout(layout) {
    this.layout = layout;
    this.container.replaceChildren();
    this.rows = [];
    this.spare = [];
    this.container.style.setProperty("--row-height", `${layout.rowHeightPx}px`);
  }

  /** The rows that are painted, [first, end). */
  get painted() {
    const first = this.rows[0]?.number ?? 0;
    return { first, end: first + this.rows.length };
  }

  setTotalRows(totalRows) {
    const height = `${rowTop(totalRows, this.layout.rowHeightPx, this.gap)}px`;
    if (this.container.style.height !== height) this.container.style.height = height;
  }

  /** Paints the rows [first, end) of the `total` tabs known, moving as few nodes as can be. */
  paint(first, end, total) {
    const rows = this.rows;
    const keep = (row) => row.number >= first && row.number < end;
    const focused = this.indexOf(document.activeElement);
    if (rows.some(keep)) {
      while (rows.length > 0 && rows[0].number < first) rows.push(reuse(rows.shift()));
      while (rows.length > 0 && rows.at(-1).number >= end) rows.unshift(reuse(rows.pop()));
    }
    while (rows.length < end - first) rows.push(this.#takeRow());
    while (rows.length > end - first) this.#parkRow(rows.pop());
    rows.forEach((row, i) => this.#paintRow(row, first + i, total));
    this.#placeTabStop();
    // A node painted anew must not carry the focus over to another site.
    if (focused >= 0 && this.indexOf(document.activeElement) !== focused) {
      this.container.focus({ preventScroll: true });
    }
  }

  /**
   * Puts the rows in the document in the order in which they stand on the screen. A node that is
   * moved is laid out anew, so that this waits until nothing scrolls.
   */
  order() {
    const { container } = this;
    // The newer way keeps focus and animations where they are.
    const move = container.moveBefore ?? container.insertBefore;
    let here = container.firstChild;
    for (const { node } of this.rows) {
      if (node === here) here = here.nextSibling;
      else move.call(container, node, here);
    }
  }

  /** The number of the tab to which the element belongs, or -1. */
  indexOf(element) {
    const link = element?.closest?.(".tab");
    return (link && this.cells.get(link)?.index) ?? -1;
  }

  /** Puts the keyboard on the tab, if it is painted; its row must be scrolled to before. */
  focus(index) {
    this.cursor = index;
    this.#placeTabStop();
    const cell = this.#cellOf(index);
    cell?.link.focus({ preventScroll: true });
    return cell !== undefined;
  }

  /** Draws the tab as its row's active one; -1 gives every row its own back. */
  markOpened(index) {
    this.opened = index;
    for (const row of this.rows) this.#markActive(row);
  }

  /** Lights up the tab that was searched for, once it is painted; -1 puts it out. */
  markFound(index) {
    this.found = index;
    for (const row of this.rows) this.#markActive(row);
  }

  /** Whether the tab stands in the row, and the painted row in which it stands. */
  holds(row, index) {
    return index >= 0 && row.cells[index - row.first]?.index === index;
  }

  rowOf(index) {
    return this.rows.find((row) => this.holds(row, index));
  }

  #cellOf(index) {
    const row = this.rowOf(index);
    return row?.cells[index - row.first];
  }

  #takeRow() {
    const row = this.spare.pop() ?? this.#newRow();
    row.node.hidden = false;
    if (!row.node.parentNode) this.container.append(row.node);
    return row;
  }

  #parkRow(row) {
    this.beforeMove(row);
    row.number = -1;
    row.node.hidden = true;
    this.spare.push(row);
  }

  #newRow() {
    const node = document.createElement("div");
    node.className = "row";
    const belt = document.createElement("div");
    belt.className = "belt";
    const cells = Array.from({ length: this.layout.maxColumns }, newCell);
    for (const cell of cells) this.cells.set(cell.link, cell);
    belt.append(...cells.map((cell) => cell.link));
    node.append(belt);
    return {
      node, belt, cells, number: -1, first: 0, complete: false, top: -1, places: [], shift: 0,
    };
  }

  #paintRow(row, number, total) {
    const top = rowTop(number, this.layout.rowHeightPx, this.gap);
    if (row.top !== top) row.node.style.transform = `translateY(${top}px)`;
    row.top = top;
    if (row.number === number && row.complete) return;
    const first = firstTabOfRow(this.layout, number);
    const count = Math.min(tabsInRow(this.layout, number), total - first);
    const moved = row.number !== number;
    row.number = number;
    row.first = first;
    row.complete = count === tabsInRow(this.layout, number);
    row.cells.forEach((cell, column) => {
      const index = column < count ? first + column : -1;
      const tab = index < 0 ? null : this.tabAt(index);
      if (tab === undefined) row.complete = false;
      paintCell(cell, index, tab);
    });
    if (moved) this.#layBelt(row);
    this.#markActive(row);
  }

  /** Gives the row the belt that its number stands for, at its place of rest. */
  #layBelt(row) {
    const chance = hash32(`${row.number}`);
    this.beforeMove(row);
    row.drift = driftOf(chance);
    row.tabPx = tabPxOfRow(this.layout, row.number);
    row.roundPx = row.tabPx * tabsInRow(this.layout, row.number);
    row.places = [];
    row.node.style.setProperty("--hue", String(ROW_HUES[chance % ROW_HUES.length]));
    for (const { link } of row.cells) link.style.width = `${row.tabPx}px`;
    this.shiftTo(row, this.still ? 0 : row.drift.phase * row.roundPx * row.drift.sign);
  }

  /** Lays the row's belt `shift` pixels from its place of rest, at rest. */
  shiftTo(row, shift) {
    row.shift = shift % row.roundPx;
    row.belt.style.transform = `translateX(${row.shift}px)`;
    this.place(row, row.shift);
  }

  /** Takes the tabs that left at one edge to the other; nothing else is touched. */
  place(row, shift) {
    const count = Math.round(row.roundPx / row.tabPx);
    for (let column = 0; column < count; column += 1) {
      const place = placeOnBelt(column, count, row.tabPx, shift, row.drift.sign);
      if (row.places[column] === place) continue;
      row.places[column] = place;
      row.cells[column].link.style.left = `${place}px`;
    }
  }

  #markActive(row) {
    const active = this.holds(row, this.opened)
      ? this.opened - row.first
      : activeColumn(this.layout, row.number);
    row.cells.forEach(({ link, index }, column) => {
      link.classList.toggle("active", column === active);
      link.classList.toggle("found", index >= 0 && index === this.found);
    });
  }

  /** Where the cursor's tab is not painted, one in the middle of the view stands in. */
  #placeTabStop() {
    const stop = this.#cellOf(this.cursor) ?? this.rows[this.rows.length >> 1]?.cells[0];
    if (stop === this.stop) return;
    if (this.stop) this.stop.link.tabIndex = -1;
    if (stop) stop.link.tabIndex = 0;
    this.stop = stop;
  }
}

function reuse(row) {
  row.number = -1;
  return row;
}

function newCell() {
  const link = document.createElement("a");
  link.className = "tab";
  link.tabIndex = -1;
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
  link.draggable = false;
  const icon = document.createElement("img");
  icon.className = "icon";
  icon.alt = "";
  icon.width = 16;
  icon.height = 16;
  const title = document.createElement("span");
  title.className = "title";
  title.dir = "auto";
  link.append(icon, title);
  return { link, icon, title, index: -1, tab: null };
}

/** `tab` is null where no tab stands and undefined where one is still to come. */
function paintCell(cell, index, tab) {
  const { link, icon, title } = cell;
  cell.index = index;
  if (cell.tab === tab && tab) return;
  cell.tab = tab;
  link.hidden = tab === null;
  link.classList.toggle("coming", tab === undefined);
  link.classList.toggle("outside", Boolean(tab) && !tab.frameable);
  icon.hidden = !tab?.icon;
  if (tab?.icon) icon.src = tab.icon;
  else icon.removeAttribute("src");
  title.textContent = tab?.title ?? "";
  if (tab) link.href = tab.url;
  else link.removeAttribute("href");
  if (tab && !tab.frameable) link.setAttribute("aria-describedby", "outside-note");
  else link.removeAttribute("aria-describedby");
}
