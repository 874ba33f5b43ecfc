// Owns visits of the page over a sample site: starts and closes a browser, a server and a page.
// Sites in frames are simulated: no name but loopback is resolved.

import { Chromium } from "./chromium.mjs";
import { serveSample } from "./server.mjs";

/** Some tabs are painted. */
export const PAINTED = "document.querySelectorAll('.row .tab[href]').length > 20";
/** The window is full of tabs, or all tabs are painted; icons and interaction.js are loaded. */
export const FILLED = `${PAINTED} && document.querySelector('link[rel=manifest]') &&
  [...document.images].every((image) => image.complete) && (
  [...document.querySelectorAll('.row:not([hidden])')].at(-1).getBoundingClientRect().bottom >=
    innerHeight ||
  document.body.innerText.includes('every tab: '))`;
const FRAME_PAGE = "<!doctype html><title>framed</title><p id=here>framed</p>" +
  "<script>document.title = window.origin</script>";

export class Visits {
  constructor(program) {
    this.browser = new Chromium(program);
    this.open = [];
  }

  /** Visits `path` of the sample below `hash` and waits for `until`; answers {page, server}. */
  async visit(sample, { view = {}, path = "", hash = "#seed=7", until = FILLED, ...serving } = {}) {
    const server = await serveSample(sample, serving);
    const page = await this.browser.page(view);
    this.open.push({ page, server });
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
    await page.open(server.url + path + (path === "" ? hash : ""));
    await page.until(until, until);
    return { page, server };
  }

  /** Ends all visits; the browser stays. */
  async leave() {
    for (const { page, server } of this.open.splice(0)) {
      await this.browser.call("Target.closeTarget", { targetId: page.targetId });
      await server.close();
    }
  }

  async close() {
    await this.leave();
    await this.browser.close();
  }
}

/** Scrolls, and waits for the painting that follows. */
export async function scrollBy(page, px) {
  await page.evaluate(`window.scrollBy(0, ${px})`);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
}

/**
 * Clicks in the middle of the first element of the selector that is wholly in the view. Rows
 * move: the row that the pointer is on stops, and the element is clicked once the pointer is on it.
 */
export async function clickOn(page, selector) {
  const wanted = JSON.stringify(selector);
  for (let attempt = 0; attempt < 100; attempt += 1) {
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
    if (at) {
      await page.pointAt(at.x, at.y);
      const isThere = await page.evaluate(`!document.querySelector('#wall.making-room') &&
        document.elementFromPoint(${at.x}, ${at.y})?.closest(${wanted}) === window.aimed`);
      if (isThere) {
        await page.click(at.x, at.y);
        return;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing to click on: ${selector}`);
}
