// Owns the "+" for a new tab, at the end of each row and of the header's strip: it leads to the
// search field. Only the header's "+" is an element, for keyboards and screen readers; those of the
// rows are drawn by css/everytab.css. Must not know: what is searched, when rows move.

/** Leads from each "+" to the search field. */
export class NewTab {
  #wall;
  #find;
  /** Where the "+" of each track is drawn. */
  #drawn = new WeakMap();

  /** `wall` is the TabWall, `find` the search field, `marquee` what moves the rows. */
  constructor(wall, find, marquee) {
    this.#wall = wall;
    this.#find = find;
    wall.container.addEventListener("click", (event) => {
      if (!this.#isOnPlus(event)) return;
      // A click that reaches the document closes an open site, which takes the focus away.
      event.stopPropagation();
      this.#open();
    });
    const button = document.createElement("button");
    button.className = "plus";
    button.type = "button";
    button.ariaLabel = "New tab: find a website";
    button.title = button.ariaLabel;
    button.addEventListener("click", () => this.#open());
    document.querySelector("#header .strip").append(button);
    marquee.onMoved((rows) => this.#draw(rows));
  }

  #open() {
    this.#find.focus();
    this.#find.select();
  }

  /** Draws the "+" behind the last tab of each of the rows; browsers of phones have none. */
  #draw(rows) {
    if (this.#wall.layout.phone) return;
    for (const { track, lefts, count } of rows) {
      if (this.#drawn.get(track) === lefts[count]) continue;
      this.#drawn.set(track, lefts[count]);
      track.style.setProperty("--plus", `${lefts[count]}px`);
    }
  }

  /** True if a click beside the tabs is on the "+" of its row. */
  #isOnPlus({ target, clientX }) {
    const row = this.#wall.rows.find(({ track }) => track === target);
    const fromPx = row ? clientX - row.lefts[row.count] - row.shiftPx : -1;
    return fromPx >= 0 && fromPx < this.#wall.layout.plusPx;
  }
}
