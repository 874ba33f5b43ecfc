// Visits the page over a sample site. Sites in frames are simulated unless a visit requests
// otherwise, because only loopback is resolved.

import { after, afterEach } from "node:test";
import { Chromium } from "./chromium.mjs";
import { PATIENCE_MS, until } from "./patience.mjs";
import { serveSample } from "./server.mjs";

export const PAINTED = "document.querySelectorAll('.row .tab[href]').length > 20";
/** The window is full of tabs, or all tabs are painted, and icons and interaction.js are loaded. */
export const FILLED = `${PAINTED} && document.querySelector('link[rel=manifest]') &&
  [...document.images].every((image) => image.complete) && (
  [...document.querySelectorAll('.row:not([hidden])')].at(-1).getBoundingClientRect().bottom >=
    innerHeight ||
  document.body.innerText.includes('every tab: '))`;
const READY = "document.readyState === 'complete'";
export const PAGES = {
  "": FILLED,
  "map.html": `document.querySelector('#seen').textContent !== '' ||
    !document.querySelector('#retry').hidden`,
  "stats.html": "document.querySelectorAll('.chart').length > 5",
  "about.html": READY,
  "bot.html": READY,
  "404.html": READY,
};
/** Elements that are outside the window or cut off without an ellipsis. */
export const MISPLACED = `(() => {
  const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  const all = 'h1, h2, p, b, code, button, .strip .title, .tile span';
  const cut = [...document.querySelectorAll(all)]
    .filter((one) => one.checkVisibility() && !one.closest('.row, .unseen') &&
      getComputedStyle(one).textOverflow !== 'ellipsis' &&
      (one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 &&
        getComputedStyle(one).display !== 'inline' &&
        getComputedStyle(one).overflow !== 'visible' ||
        one.getBoundingClientRect().right > innerWidth + 1))
    .map((one) => one.className + ' ' + one.textContent.slice(0, 40));
  const shown = [...document.querySelectorAll('.header button, .header select, .header search, ' +
    '.header .tab')].map((one) => one.getBoundingClientRect());
  const over = shown.filter((a, i) => shown.some((b, k) => k > i && a.left < b.right - 1 &&
    b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length;
  return { wide, cut, over };
})()`;
const FRAME_PAGE = "<!doctype html><title>framed</title><p id=here>framed</p>" +
  "<script>document.title = window.origin</script>";

/** Delays the responses for search files until `window.release` is called. */
export const HOLD_SEARCH = `(() => {
  const { fetch } = window;
  const released = new Promise((resolve) => (window.release = resolve));
  window.asked = window.answered = 0;
  window.fetch = async (url, options) => {
    if (!url.includes('/search/')) return fetch(url, options);
    window.asked += 1;
    await released;
    const response = await fetch(url, options);
    window.answered += 1;
    return response;
  };
})()`;

/** Replaces the page's timeout for files by a longer one, because a busy host may reach it. */
const PATIENT = `AbortSignal.timeout = ((timeout) => () => timeout.call(AbortSignal,
  ${PATIENCE_MS}))(AbortSignal.timeout)`;

export class Visits {
  #start;
  #browser = null;

  constructor(program, options = []) {
    this.#start = () => new Chromium(program, options);
    this.open = [];
  }

  get browser() {
    this.#browser ??= this.#start();
    return this.#browser;
  }

  /** Waits for `until`, and resolves to {page, server}. */
  async visit(sample, {
    view = {}, path = "", hash = "#seed=7", until = FILLED, ownHost = "127.0.0.1",
    framesAreReal = false, prepare = () => {}, ...serving
  } = {}) {
    const server = await serveSample(sample, serving);
    server.url = server.url.replace("127.0.0.1", ownHost);
    const page = await this.browser.page(view);
    const visit = { page, server };
    this.open.push(visit);
    await page.call("Page.addScriptToEvaluateOnNewDocument", { source: PATIENT });
    if (!framesAreReal) await simulateFrames(page);
    await prepare(page);
    await page.open(server.url + path + (path === "" ? hash : ""));
    await page.until(until, until);
    return visit;
  }

  async end(visit) {
    this.open = this.open.filter((one) => one !== visit);
    await this.browser.call("Target.closeTarget", { targetId: visit.page.targetId });
    await visit.server.close();
  }

  async leave() {
    for (const visit of this.open) await this.end(visit);
  }

  async close() {
    await this.leave();
    await this.#browser?.close();
  }
}

export function visitsOfSuite(program) {
  const visits = new Visits(program);
  afterEach(() => visits.leave());
  after(() => visits.close());
  return visits;
}

async function simulateFrames(page) {
  page.framed = [];
  page.on("Fetch.requestPaused", ({ requestId, request }) => {
    page.framed.push(request);
    void page.call("Fetch.fulfillRequest", {
      requestId,
      responseCode: 200,
      responseHeaders: [{ name: "content-type", value: "text/html" }],
      body: Buffer.from(FRAME_PAGE).toString("base64"),
    }).catch(() => {});
  });
  await page.call("Fetch.enable", { patterns: [{ urlPattern: "https://*" }] });
}

/** Longer than any pause that the page waits for before it writes, counts or draws something. */
const REST_MS = 800;
const PLACE = "[location.hash, history.state, scrollY]";

/**
 * Resolves to the value of `expression` once it is unchanged for this long. A busy page ends its
 * pauses late, but in the order in which they started.
 */
export const atRest = (page, expression = PLACE) => page.evaluate(`(async () => {
  const now = () => JSON.stringify(${expression});
  let before;
  do {
    before = now();
    await new Promise((done) => setTimeout(done, ${REST_MS}));
  } while (now() !== before);
  return JSON.parse(before ?? 'null');
})()`);

export async function scrollBy(page, px) {
  await page.evaluate(`window.scrollBy(0, ${px})`);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
}

/** Rows move: the hovered row stops, and the element is clicked once the pointer is on it. */
export async function clickOn(page, selector) {
  const wanted = JSON.stringify(selector);
  await until(`something to click on: ${selector}`, async () => {
    const at = await page.evaluate(`(() => {
      if (document.querySelector('#wall.making-room')) return null;
      const middle = (one) => {
        const box = one.getBoundingClientRect();
        return box.top > 100 && box.bottom < innerHeight && box.left > 20 &&
          box.right < innerWidth - 40 && box.width > 0
          ? { x: box.left + box.width / 2, y: box.top + box.height / 2 } : null;
      };
      window.aimed = [...document.querySelectorAll(${wanted})].find(middle);
      return window.aimed ? middle(window.aimed) : null;
    })()`);
    if (!at) return false;
    await page.pointAt(at.x, at.y);
    const isThere = await page.evaluate(`!document.querySelector('#wall.making-room') &&
      document.elementFromPoint(${at.x}, ${at.y})?.closest(${wanted}) === window.aimed`);
    if (isThere) await page.click(at.x, at.y);
    return isThere;
  });
}

/** The events are {name, x, y, at}, `at` in milliseconds. */
export const sendPointer = (page, pointerType, events) => page.evaluate(`(() => {
  const map = document.querySelector('#map');
  // A pointer that does not exist cannot be captured.
  map.setPointerCapture = () => {};
  for (const { name, x, y, at } of ${JSON.stringify(events)}) {
    const event = new PointerEvent(name, {
      pointerId: 77, pointerType: '${pointerType}', clientX: x, clientY: y, bubbles: true,
    });
    Object.defineProperty(event, 'timeStamp', { value: at });
    map.dispatchEvent(event);
  }
  delete map.setPointerCapture;
})()`);
