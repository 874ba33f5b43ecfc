// This module owns the wall's nodes: a pool of rows, each with a track of tabs that is wider than
// the view. The pool's nodes persist when the layout changes. Titles enter by textContent only,
// because they are untrusted.

import {
  activeColumn, bitsOfRow, firstTabOfRow, leftOnTrack, marqueeOf, MAX_WALL_PX, RowPositions,
  rowOfTab, tabPxOfRow, tabsInRow,
} from "./layout.js";

const ROW_HUES = [215, 230, 200, 260, 180, 30, 220, 150];

/** A tab is identified by its index in the TabStream; -1 is no tab. */
export class TabWall {
  /** `tabAt(index)` returns a tab, undefined while it is loading, or null if it is gone. */
  constructor(container, tabAt) {
    this.container = container;
    this.tabAt = tabAt;
    this.rows = [];
    this.spare = [];
    this.cells = new WeakMap();
    /** The last focused, the open, and the found tab, or -1. */
    this.cursor = 0;
    this.opened = -1;
    this.found = -1;
    /** The closed and collapsed tabs, and the node of the row whose tabs keep their width. */
    this.closed = new Set();
    this.lockedNode = null;
    this.positions = new RowPositions();
    this.still = false;
    this.beforeReset = () => {};
  }

  /** Takes effect at the next painting. */
  setClosed(closed) {
    this.closed = closed;
    for (const row of this.rows) row.complete = false;
  }

  /** This row node's tabs keep their width when others are closed; null ends this. */
  lockWidths(rowNode) {
    this.lockedNode = rowNode;
    for (const row of this.rows) row.complete = false;
  }

  closeTab(index, isClosed) {
    const row = this.rowOf(index);
    if (isClosed) this.closed.add(index);
    else this.closed.delete(index);
    if (!row) return;
    row.complete = false;
    const { cells, track } = row;
    if (isClosed) {
      cells.push(...cells.splice(this.columnOf(row, index), 1));
      track.append(cells.at(-1).link);
    } else {
      const cell = cells.pop();
      const before = cells.find((one) => one.index < 0 || one.index > index);
      cells.splice(before ? cells.indexOf(before) : cells.length, 0, cell);
      track.insertBefore(cell.link, before?.link ?? null);
    }
  }

  setPositions(positions) {
    this.positions = positions;
  }

  /** If `still` is true, rows do not move, and new ones start at 0. */
  setStill(still) {
    this.still = still;
  }

  setCursor(index) {
    this.cursor = index;
  }

  /** `listener` is called with a row before its track is laid out again or the row is hidden. */
  onReset(listener) {
    this.beforeReset = listener;
  }

  setLayout(layout) {
    this.layout = layout;
    this.positions = new RowPositions(layout.rowHeightPx);
    for (const row of this.rows) row.complete = false;
    this.container.style.setProperty("--row-height", `${layout.rowHeightPx}px`);
  }

  get painted() {
    const first = this.rows[0]?.number ?? 0;
    return { first, end: first + this.rows.length };
  }

  setTotalRows(totalRows) {
    const height = `${Math.min(this.positions.topOf(totalRows), MAX_WALL_PX)}px`;
    if (this.container.style.height !== height) this.container.style.height = height;
  }

  /**
   * Paints the rows [first, end) out of `total` known tabs, and reuses as many nodes as possible.
   */
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
      (this.#cellOf(focused)?.link ?? this.container).focus({ preventScroll: true });
    }
  }

  indexOf(element) {
    const link = element?.closest?.(".tab");
    return (link && this.cells.get(link)?.index) ?? -1;
  }

  /** Returns false if the tab is not painted. */
  focus(index) {
    this.cursor = index;
    this.#placeTabStop();
    const cell = this.#cellOf(index);
    cell?.link.focus({ preventScroll: true });
    return cell !== undefined;
  }

  /** With -1, each row has its own active tab again. */
  markOpened(index) {
    this.opened = index;
    for (const row of this.rows) this.#markActive(row);
  }

  /** Highlights the tab as soon as it is painted; -1 for none. */
  markFound(index) {
    this.found = index;
    for (const row of this.rows) this.#markActive(row);
  }

  holds(row, index) {
    return index >= 0 && this.columnOf(row, index) >= 0;
  }

  columnOf(row, index) {
    return row.cells.findIndex((cell) => cell.index === index);
  }

  rowOf(index) {
    const number = index < 0 ? -1 : rowOfTab(this.layout, index);
    return this.rows.find((row) => row.number === number);
  }

  #cellOf(index) {
    return this.rowOf(index)?.cells.find((cell) => cell.index === index);
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
    node.append(track);
    return {
      node, track, cells: [], number: -1, first: 0, complete: false, top: -1, lefts: [], shiftPx: 0,
      tabPx: 0, count: 0,
    };
  }

  #paintRow(row, number, total) {
    const top = this.positions.topOf(number);
    if (row.top !== top) row.node.style.transform = `translateY(${top}px)`;
    row.top = top;
    if (row.number === number && row.complete) return;
    const first = firstTabOfRow(this.layout, number);
    const most = tabsInRow(this.layout, number);
    const known = Array.from({ length: Math.min(most, total - first) }, (_, i) => first + i);
    const shown = known.filter((index) => !this.closed.has(index));
    const closed = known.length - shown.length;
    while (row.cells.length < this.layout.maxColumns) this.#addCell(row);
    // If the row remains the same, its track keeps its position, measured in tabs.
    const stays = row.number === number;
    row.number = number;
    row.first = first;
    row.complete = known.length === most;
    row.cells.forEach((cell, column) => {
      const index = shown[column] ?? -1;
      const tab = index < 0 ? null : this.tabAt(index);
      if (tab === undefined) row.complete = false;
      paintCell(cell, index, tab, this.layout.phone);
    });
    const isLocked = stays && row.node === this.lockedNode;
    const tabPx = isLocked ? row.tabPx : tabPxOfRow(this.layout, number, closed);
    const count = most - closed;
    if (!stays || row.tabPx !== tabPx || row.count !== count) {
      // If few tabs are left, the track ends with a gap, unless their widths are locked.
      const leastPx = tabPx + (isLocked ? 0 : this.layout.widthPx);
      const trackPx = Math.max(count * tabPx + this.layout.plusPx, leastPx);
      this.#resetTrack(row, stays, tabPx, count, trackPx);
    }
    this.#markActive(row);
  }

  #addCell(row) {
    const cell = newCell();
    this.cells.set(cell.link, cell);
    row.cells.push(cell);
    row.track.append(cell.link);
  }

  #resetTrack(row, stays, tabPx, count, cyclePx) {
    const random = bitsOfRow(row.number);
    this.beforeReset(row);
    const shiftTabs = row.shiftPx / row.tabPx;
    row.marquee = marqueeOf(random);
    Object.assign(row, { tabPx, count, cyclePx });
    row.lefts = [];
    row.node.style.setProperty("--hue", String(ROW_HUES[random % ROW_HUES.length]));
    for (const { link } of row.cells) link.style.width = `${row.tabPx}px`;
    const startPx = this.still ? 0 : row.marquee.phase * row.cyclePx * row.marquee.sign;
    this.moveTrack(row, stays ? shiftTabs * row.tabPx : startPx);
  }

  /** Moves a track that is not animated to `shiftPx` pixels right of its start. */
  moveTrack(row, shiftPx) {
    row.shiftPx = shiftPx % row.cyclePx;
    row.track.style.transform = `translateX(${row.shiftPx}px)`;
    this.wrapTrack(row, row.shiftPx);
  }

  wrapTrack(row, shiftPx) {
    const { tabPx, cyclePx, count, marquee } = row;
    const { widthPx } = this.layout;
    // The last position is that of the "+".
    for (let column = 0; column <= count; column += 1) {
      const left = leftOnTrack(column, tabPx, cyclePx, widthPx, shiftPx, marquee.sign);
      if (row.lefts[column] === left) continue;
      row.lefts[column] = left;
      if (column < count) row.cells[column].link.style.left = `${left}px`;
    }
  }

  #markActive(row) {
    let active = this.opened < 0 ? -1 : this.columnOf(row, this.opened);
    if (active < 0) {
      const wished = row.first + activeColumn(this.layout, row.number);
      active = row.cells.findIndex(({ index }) => index >= wished);
    }
    row.cells.forEach(({ link, index }, column) => {
      link.classList.toggle("active", column === active);
      link.classList.toggle("opened", index >= 0 && index === this.opened);
      link.classList.toggle("found", index >= 0 && index === this.found);
    });
  }

  /** If the last focused tab is not painted, the tab stop is in the middle row. */
  #placeTabStop() {
    const rows = this.rows.filter((row) => row.cells[0].index >= 0);
    const stop = this.#cellOf(this.cursor) ?? rows[rows.length >> 1]?.cells[0];
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

/**
 * `tab` is null if the cell is empty or the tab is gone, and undefined while the tab is loading.
 */
function paintCell(cell, index, tab, phone) {
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
  if (phone) link.dataset.host = tab?.host.replace(/^www\./, "") ?? "";
  link.role = tab ? null : "none";
  if (tab) link.href = tab.url;
  else link.removeAttribute("href");
}
