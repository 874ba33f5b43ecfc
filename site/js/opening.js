// Owns the opening of a tab's site between two rows: the click, the room between the rows, the
// return of the focus. Must not know: what the viewer shows, how rows are drawn.

import { rowOfTab } from "./layout.js";
import { SiteViewer } from "./viewer.js";

/** The part of the window's height that an open site takes. */
const SITE_SHARE = 0.75;
/** A little more than the transition of .making-room in css/everytab.css, in milliseconds. */
const TRANSITION_MS = 300;

/** Opens a tab's site where the visitor clicks, and closes it. */
export class SiteOpening {
  #visit;
  #marquee;
  #navigation;
  #card;
  #viewer;

  /**
   * `visit` is the object of main.js; `parts` are the page's other parts: {marquee, navigation,
   * card}; `element` is the viewer's element.
   */
  constructor(visit, { marquee, navigation, card }, element) {
    this.#visit = visit;
    this.#marquee = marquee;
    this.#navigation = navigation;
    this.#card = card;
    this.#viewer = new SiteViewer(element, visit.manifest.contact, () => this.#closed());
    visit.wall.container.addEventListener("click", (event) => this.#open(event));
  }

  /** Closes the open site, if there is one. */
  close() {
    if (this.#viewer.isOpen) this.#viewer.close();
  }

  /** Makes room for the open site in the current layout, or removes the room. */
  makeRoom() {
    const { wall, layout, headerPx } = this.#visit;
    const { rowHeightPx } = layout;
    const most = window.innerHeight - headerPx - rowHeightPx;
    const px = Math.min(Math.round(window.innerHeight * SITE_SHARE), most);
    wall.setGap(wall.opened < 0 ? null : { row: rowOfTab(layout, wall.opened), px });
    if (wall.gap) this.#viewer.place((wall.gap.row + 1) * rowHeightPx, px);
  }

  #open(event) {
    const { wall, stream } = this.#visit;
    const index = wall.indexOf(event.target);
    const tab = index < 0 ? undefined : stream?.at(index);
    const isPlainClick = event.button === 0 &&
      !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!tab || !isPlainClick) return;
    wall.setCursor(index);
    if (!tab.frameable) return;
    event.preventDefault();
    this.#card.hide();
    wall.markFound(-1);
    wall.markOpened(index);
    this.#marquee.show(index);
    this.#moveRows();
    this.#viewer.open(tab);
    this.#navigation.scrollTo(index, wall.gap.px);
  }

  #closed() {
    const { wall } = this.#visit;
    const index = wall.opened;
    wall.markOpened(-1);
    this.#moveRows();
    if (!wall.focus(index)) wall.container.focus({ preventScroll: true });
  }

  /** Moves the rows apart or together, with a transition. */
  #moveRows() {
    const { classList } = this.#visit.wall.container;
    this.makeRoom();
    classList.add("making-room");
    setTimeout(() => classList.remove("making-room"), TRANSITION_MS);
    this.#visit.paint();
  }
}
