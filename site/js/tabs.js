// Owns the nodes of the wall: a pool of rows, each with a track of tabs, wider than the view.
// Invariants: the pool is as large as the view needs; when nothing scrolls, rows have the same
// order in the document as on the screen; titles enter by textContent only, icons as data:image/png
// only; one tab has tabindex 0; other modules change wall and rows by methods only.
// Must not know: where tabs come from, what opening one means, when tracks move.

import { activeColumn, firstTabOfRow, tabPxOfRow, tabsInRow } from "./layout.js";
import { hash32 } from "./random.js";
import { marqueeOf, placeOnTrack, rowTop } from "./viewport.js";

const ROW_HUES = [215, 230, 200, 260, 180, 30, 220, 150];

/** The wall. A tab is named by its index in the TabStream; -1 is no tab. */
export class TabWall {
  /** `container` is the wall's empty element; `tabAt(index)` returns a tab or undefined. */
  constructor(container, tabAt) {
    this.container = container;
    this.tabAt = tabAt;
    /** The painted rows, in order. */
    this.rows = [];
    this.spare = [];
    this.cells = new WeakMap();
    /** The tabs that the keyboard is on, that is open, that was searched for. */
    this.cursor = 0;
    this.opened = -1;
    this.found = -1;
    /** The room of an open site, {row, px}, or null. */
    this.gap = null;
    /** True while no row may move. */
    this.still = false;
    this.beforeReset = () => {};
  }

  /** Makes room for an open site. */
  setGap(gap) {
    this.gap = gap;
  }

  /** Rows that are reset start at 0 if `still` is true. */
  setStill(still) {
    this.still = still;
  }

  /** Sets the tab that the Tab key leads to. */
  setCursor(index) {
    this.cursor = index;
  }

  /** `listener` is called with a row before its track is laid out again. */
  onReset(listener) {
    this.beforeReset = listener;
  }

  /** Drops all row nodes and takes over a new layout (see `rowLayout`). */
  setLayout(layout) {
    this.layout = layout;
    this.container.replaceChildren();
    this.rows = [];
    this.spare = [];
    this.container.style.setProperty("--row-height", `${layout.rowHeightPx}px`);
  }

  /** The numbers of the painted rows, {first, end}. */
  get painted() {
    const first = this.rows[0]?.number ?? 0;
    return { first, end: first + this.rows.length };
  }

  /** Sets the wall's height. */
  setTotalRows(totalRows) {
    const height = `${rowTop(totalRows, this.layout.rowHeightPx, this.gap)}px`;
    if (this.container.style.height !== height) this.container.style.height = height;
  }

  /** Paints the rows [first, end) of `total` known tabs, and reuses as many nodes as it can. */
  paint(first, end, total) {
    const rows = this.rows;
    const stays = (row) => row.number >= first && row.number < end;
    const focused = this.indexOf(document.activeElement);
    if (rows.some(stays)) {
      while (rows.length > 0 && rows[0].number < first) rows.push(reuse(rows.shift()));
      while (rows.length > 0 && rows.at(-1).number >= end) rows.unshift(reuse(rows.pop()));
    }
    while (rows.length < end - first) rows.push(this.#takeRow());
    while (rows.length > end - first) this.#parkRow(rows.pop());
    rows.forEach((row, i) => this.#paintRow(row, first + i, total));
    this.#placeTabStop();
    // A reused node must not carry the focus to another site.
    if (focused >= 0 && this.indexOf(document.activeElement) !== focused) {
      this.container.focus({ preventScroll: true });
    }
  }

  /**
   * Puts the rows in the document in their order on the screen. The browser lays out each moved
   * node again, so call this when nothing scrolls.
   */
  order() {
    const { container } = this;
    // moveBefore keeps focus and animations; older browsers lack it.
    const move = container.moveBefore ?? container.insertBefore;
    let here = container.firstChild;
    for (const { node } of this.rows) {
      if (node === here) here = here.nextSibling;
      else move.call(container, node, here);
    }
  }

  /** Returns the index of the tab that contains the element. */
  indexOf(element) {
    const link = element?.closest?.(".tab");
    return (link && this.cells.get(link)?.index) ?? -1;
  }

  /** Focuses the tab. Returns false if it is not painted. */
  focus(index) {
    this.cursor = index;
    this.#placeTabStop();
    const cell = this.#cellOf(index);
    cell?.link.focus({ preventScroll: true });
    return cell !== undefined;
  }

  /** Draws the tab as the active one of its row; with -1, each row has its own again. */
  markOpened(index) {
    this.opened = index;
    for (const row of this.rows) this.#markActive(row);
  }

  /** Highlights the tab as soon as it is painted; -1 ends that. */
  markFound(index) {
    this.found = index;
    for (const row of this.rows) this.#markActive(row);
  }

  /** True if the tab is in the row. */
  holds(row, index) {
    return index >= 0 && row.cells[index - row.first]?.index === index;
  }

  /** Returns the painted row that holds the tab, or undefined. */
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
    this.beforeReset(row);
    row.number = -1;
    row.node.hidden = true;
    this.spare.push(row);
  }

  #newRow() {
    const node = document.createElement("div");
    node.className = "row";
    const track = document.createElement("div");
    track.className = "track";
    const cells = Array.from({ length: this.layout.maxColumns }, newCell);
    for (const cell of cells) this.cells.set(cell.link, cell);
    track.append(...cells.map((cell) => cell.link));
    node.append(track);
    return {
      node, track, cells, number: -1, first: 0, complete: false, top: -1, lefts: [], shiftPx: 0,
    };
  }

  #paintRow(row, number, total) {
    const top = rowTop(number, this.layout.rowHeightPx, this.gap);
    if (row.top !== top) row.node.style.transform = `translateY(${top}px)`;
    row.top = top;
    if (row.number === number && row.complete) return;
    const first = firstTabOfRow(this.layout, number);
    const count = Math.min(tabsInRow(this.layout, number), total - first);
    const isReused = row.number !== number;
    row.number = number;
    row.first = first;
    row.complete = count === tabsInRow(this.layout, number);
    row.cells.forEach((cell, column) => {
      const index = column < count ? first + column : -1;
      const tab = index < 0 ? null : this.tabAt(index);
      if (tab === undefined) row.complete = false;
      paintCell(cell, index, tab);
    });
    if (isReused) this.#resetTrack(row);
    this.#markActive(row);
  }

  #resetTrack(row) {
    const random = hash32(`${row.number}`);
    this.beforeReset(row);
    row.marquee = marqueeOf(random);
    row.tabPx = tabPxOfRow(this.layout, row.number);
    row.cyclePx = row.tabPx * tabsInRow(this.layout, row.number);
    row.lefts = [];
    row.node.style.setProperty("--hue", String(ROW_HUES[random % ROW_HUES.length]));
    for (const { link } of row.cells) link.style.width = `${row.tabPx}px`;
    this.moveTrack(row, this.still ? 0 : row.marquee.phase * row.cyclePx * row.marquee.sign);
  }

  /** Moves a track that is not animated to `shiftPx` pixels right of its start. */
  moveTrack(row, shiftPx) {
    row.shiftPx = shiftPx % row.cyclePx;
    row.track.style.transform = `translateX(${row.shiftPx}px)`;
    this.wrapTrack(row, row.shiftPx);
  }

  /** Takes the tabs that left at one edge of the row to the other. */
  wrapTrack(row, shiftPx) {
    const count = Math.round(row.cyclePx / row.tabPx);
    for (let column = 0; column < count; column += 1) {
      const left = placeOnTrack(column, count, row.tabPx, shiftPx, row.marquee.sign);
      if (row.lefts[column] === left) continue;
      row.lefts[column] = left;
      row.cells[column].link.style.left = `${left}px`;
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

  /** Where the cursor's tab is not painted, the visitor tabs into the middle of the view. */
  #placeTabStop() {
    const stop = this.#cellOf(this.cursor) ?? this.rows[this.rows.length >> 1]?.cells[0];
    if (stop === this.tabStop) return;
    if (this.tabStop) this.tabStop.link.tabIndex = -1;
    if (stop) stop.link.tabIndex = 0;
    this.tabStop = stop;
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

/** `tab` is null in an empty cell and undefined while the tab is loading. */
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
