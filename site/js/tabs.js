// Owns the wall's nodes: a pool of rows that are painted, moved and painted again.
// Invariants: the pool is as large as the view asks for and no larger; rows stand in the
// document in the order in which they stand on the screen; strangers' text enters by
// textContent alone, their icons as data:image/png alone; one tab at a time can be tabbed to.
// Must not know: where tabs come from, what opening one means.

import { activeColumn, firstTabOfRow, tabsInRow } from "./layout.js";
import { hash32 } from "./random.js";

const ROW_HUES = [215, 230, 200, 260, 180, 30, 220, 150];

export class TabWall {
  /** `tabAt(index)` gives a tab or undefined; `container` is the wall's empty element. */
  constructor(container, tabAt) {
    this.container = container;
    this.tabAt = tabAt;
    this.rows = [];
    this.spare = [];
    this.cells = new WeakMap();
    /** The tab that the keyboard stands on, and the one whose page is open. */
    this.cursor = 0;
    this.opened = -1;
  }

  /** Starts anew with the layout: every row node is dropped. */
  setLayout(layout) {
    this.layout = layout;
    this.container.replaceChildren();
    this.rows = [];
    this.spare = [];
    this.container.style.setProperty("--row-height", `${layout.rowHeightPx}px`);
  }

  setTotalRows(totalRows) {
    this.container.style.height = `${totalRows * this.layout.rowHeightPx}px`;
  }

  /** Paints the rows [first, end) of the `total` tabs known, moving as few nodes as can be. */
  paint(first, end, total) {
    const rows = this.rows;
    const keep = (row) => row.number >= first && row.number < end;
    const focused = this.indexOf(document.activeElement);
    if (rows.some(keep)) {
      while (rows.length > 0 && rows[0].number < first) this.#moveToEnd(rows);
      while (rows.length > 0 && rows.at(-1).number >= end) this.#moveToStart(rows);
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

  #cellOf(index) {
    for (const row of this.rows) {
      const cell = row.cells[index - row.first];
      if (cell && cell.index === index) return cell;
    }
    return undefined;
  }

  #moveToEnd(rows) {
    const row = rows.shift();
    row.number = -1;
    rows.push(row);
    this.container.append(row.node);
  }

  #moveToStart(rows) {
    const row = rows.pop();
    row.number = -1;
    rows.unshift(row);
    this.container.prepend(row.node);
  }

  #takeRow() {
    const row = this.spare.pop() ?? this.#newRow();
    row.node.hidden = false;
    this.container.append(row.node);
    return row;
  }

  #parkRow(row) {
    row.number = -1;
    row.node.hidden = true;
    this.spare.push(row);
  }

  #newRow() {
    const node = document.createElement("div");
    node.className = "row";
    const cells = Array.from({ length: this.layout.maxColumns }, newCell);
    for (const cell of cells) this.cells.set(cell.link, cell);
    node.append(...cells.map((cell) => cell.link));
    return { node, cells, number: -1, first: 0, complete: false };
  }

  #paintRow(row, number, total) {
    if (row.number === number && row.complete) return;
    const first = firstTabOfRow(this.layout, number);
    const count = Math.min(tabsInRow(this.layout, number), total - first);
    if (row.number !== number) {
      const y = number * this.layout.rowHeightPx;
      row.node.style.transform = `translateY(${y}px)`;
      row.node.style.setProperty("--hue", String(ROW_HUES[hash32(`${number}`) % ROW_HUES.length]));
    }
    row.number = number;
    row.first = first;
    row.complete = count === tabsInRow(this.layout, number);
    row.cells.forEach((cell, column) => {
      const index = column < count ? first + column : -1;
      const tab = index < 0 ? null : this.tabAt(index);
      if (tab === undefined) row.complete = false;
      paintCell(cell, index, tab);
    });
    this.#markActive(row);
  }

  #markActive(row) {
    const opened = this.opened - row.first;
    const here = opened >= 0 && row.cells[opened]?.index === this.opened;
    const active = here ? opened : activeColumn(this.layout, row.number);
    row.cells.forEach((cell, column) => cell.link.classList.toggle("active", column === active));
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
  icon.decoding = "sync";
  const letter = document.createElement("span");
  letter.className = "icon letter";
  letter.setAttribute("aria-hidden", "true");
  const title = document.createElement("span");
  title.className = "title";
  title.dir = "auto";
  link.append(icon, letter, title);
  return { link, icon, letter, title, index: -1, tab: null };
}

/** `tab` is null where no tab stands and undefined where one is still to come. */
function paintCell(cell, index, tab) {
  const { link, icon, letter, title } = cell;
  cell.index = index;
  if (cell.tab === tab && tab) return;
  cell.tab = tab;
  link.hidden = tab === null;
  link.classList.toggle("coming", tab === undefined);
  link.classList.toggle("outside", Boolean(tab) && !tab.frameable);
  if (!tab) {
    link.removeAttribute("href");
    link.removeAttribute("aria-describedby");
    icon.removeAttribute("src");
    icon.hidden = true;
    letter.hidden = true;
    title.textContent = "";
    return;
  }
  link.href = tab.url;
  if (tab.frameable) link.removeAttribute("aria-describedby");
  else link.setAttribute("aria-describedby", "outside-note");
  title.textContent = tab.title;
  paintIcon(icon, letter, tab);
}

/** Shows the tab's icon, or a letter drawn from its name where it has none. */
export function paintIcon(icon, letter, tab) {
  icon.hidden = tab.icon === "";
  letter.hidden = tab.icon !== "";
  if (tab.icon !== "") {
    icon.src = tab.icon;
    return;
  }
  icon.removeAttribute("src");
  letter.textContent = letterOf(tab);
  letter.style.setProperty("--hue", String(hash32(tab.host) % 360));
}

/** The letter that stands for a site: of its hostname, or of its title where that is punycode. */
export function letterOf(tab) {
  const name = tab.host.replace(/^www\./, "");
  const source = name.startsWith("xn--") ? `${tab.title} ${name}` : name;
  const match = /[\p{L}\p{N}]/u.exec(source);
  return match ? match[0].toUpperCase().slice(0, 2) : "?";
}
