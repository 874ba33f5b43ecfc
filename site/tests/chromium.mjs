// Starts a headless Chromium and speaks the DevTools protocol with it over a pipe, so that no port
// is open. The browser resolves only loopback names. Its profile is deleted at the end.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE_MS, until } from "./patience.mjs";

/** Debian's headless shell is Chromium without windows, and takes half the CPU time. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const SEEN = `JSON.stringify({
  url: location.href, scrolled: Math.round(scrollY), focus: document.activeElement?.id,
  tabs: document.querySelectorAll('.row .tab[href]').length,
  found: document.querySelector('.tab.found')?.href, visibility: document.visibilityState,
  files: performance.getEntriesByType('resource').map(({ name, responseEnd }) =>
    name.split('/').at(-1) + (responseEnd ? '' : ' is coming')).slice(-8).join(),
  words: ['notice', 'message', 'found-status'].map((id) =>
    document.getElementById(id)?.textContent),
})`;

/** Returns the browser's program: EVERYTAB_CHROMIUM, else the first one on the path, else null. */
export function findChromium() {
  const named = process.env.EVERYTAB_CHROMIUM;
  for (const name of named ? [named] : NAMES) {
    if (spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0) return name;
  }
  return null;
}

export class Chromium {
  constructor(program, options = []) {
    this.profile = mkdtempSync(join(tmpdir(), "everytab-chromium-"));
    this.child = spawn(program, [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--disable-dev-shm-usage",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-backgrounding-occluded-windows",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
      `--user-data-dir=${this.profile}`,
      "--remote-debugging-pipe",
      ...options,
      "about:blank",
    ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.nextId = 1;
    this.calls = new Map();
    this.pages = new Map();
    this.gone = new Promise((resolve) => this.child.once("exit", resolve));
    void this.gone.then(() => this.#failAll(new Error("chromium ended")));
    let rest = "";
    this.child.stdio[4].setEncoding("utf8");
    this.child.stdio[4].on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      for (const message of messages) this.#receive(JSON.parse(message));
    });
    this.child.stdio[3].on("error", () => {});
  }

  call(method, params = {}, sessionId = undefined) {
    const id = this.nextId;
    this.nextId += 1;
    const answer = new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.calls.delete(id);
        reject(new Error(`chromium did not answer ${method}`));
      }, PATIENCE_MS);
      this.calls.set(id, { method, resolve, reject, timer });
    });
    this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return answer;
  }

  async page({ width = 1280, height = 800, media = {}, phone = false, scale = 1 } = {}) {
    // Only one tab per window is visible, and other tabs draw no frames.
    const { targetId } = await this.call("Target.createTarget", {
      url: "about:blank", newWindow: true,
    });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.pages.set(sessionId, page);
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.call(`${domain}.enable`);
    await page.resize(width, height, phone, scale);
    await page.call("Emulation.setEmulatedMedia", {
      features: Object.entries(media).map(([name, value]) => ({ name, value })),
    });
    return page;
  }

  async close() {
    await this.call("Browser.close").catch(() => {});
    const late = setTimeout(() => this.child.kill("SIGKILL"), 5_000);
    await this.gone;
    clearTimeout(late);
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #receive(message) {
    if (message.id === undefined) {
      this.pages.get(message.sessionId)?.receive(message.method, message.params);
      return;
    }
    const waiting = this.calls.get(message.id);
    if (!waiting) return;
    this.calls.delete(message.id);
    clearTimeout(waiting.timer);
    if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
    else waiting.resolve(message.result);
  }

  #failAll(error) {
    for (const { reject, timer } of this.calls.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.calls.clear();
  }
}

/** One browser page. `troubles` collects exceptions, console errors and policy violations. */
export class Page {
  constructor(browser, sessionId, targetId) {
    this.browser = browser;
    this.sessionId = sessionId;
    this.targetId = targetId;
    this.troubles = [];
    this.listeners = [];
  }

  call(method, params) {
    return this.browser.call(method, params, this.sessionId);
  }

  on(method, listener) {
    this.listeners.push({ method, listener });
  }

  receive(method, params) {
    if (method === "Runtime.exceptionThrown") {
      const { text, exception } = params.exceptionDetails;
      this.troubles.push(`${text} ${exception?.description ?? ""}`);
    } else if (method === "Runtime.consoleAPICalled" && params.type !== "log") {
      this.troubles.push(params.args.map((arg) => arg.value ?? arg.description).join(" "));
    } else if (method === "Log.entryAdded" && params.entry.level !== "verbose") {
      this.troubles.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    }
    for (const each of this.listeners) if (each.method === method) each.listener(params);
  }

  async open(url) {
    await this.call("Page.navigate", { url });
  }

  /**
   * Resolves when the new document has replaced the old one. Otherwise an expression may be
   * evaluated in the old document, just before this disappears.
   */
  async reload(start = () => this.call("Page.reload")) {
    let isReplaced = false;
    this.on("Page.frameNavigated", ({ frame }) => (isReplaced ||= !frame.parentId));
    await start();
    await until("the reloaded document", () => isReplaced);
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? expression);
    return result.value;
  }

  /** The call returns first, because leaving a document would end it. */
  async back() {
    await this.evaluate("setTimeout(() => history.back())");
  }

  until(name, expression) {
    return until(name, () => this.evaluate(expression).catch(() => false), async () =>
      `; the page has ${await this.evaluate(SEEN).catch((error) => error.message)}`);
  }

  async key(key, code = key, extra = {}) {
    const codes = { Enter: 13, Escape: 27, Tab: 9, Home: 36, End: 35 };
    const arrows = { ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40 };
    const windowsVirtualKeyCode = codes[key] ?? arrows[key] ?? 0;
    const text = key === "Enter" ? "\r" : undefined;
    const event = { key, code, windowsVirtualKeyCode, ...extra };
    const type = text ? "keyDown" : "rawKeyDown";
    await this.call("Input.dispatchKeyEvent", { type, text, ...event });
    await this.call("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  async pointAt(x, y) {
    await this.call("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
  }

  async click(x, y) {
    const event = { x, y, button: "left", clickCount: 1 };
    await this.call("Input.dispatchMouseEvent", { type: "mousePressed", ...event });
    await this.call("Input.dispatchMouseEvent", { type: "mouseReleased", ...event });
  }

  async resize(width, height, phone = false, scale = 1) {
    await this.call("Emulation.setDeviceMetricsOverride", {
      width, height, deviceScaleFactor: scale, mobile: phone,
    });
    await this.call("Emulation.setTouchEmulationEnabled", { enabled: phone });
  }

  async screenshot(file) {
    const { data } = await this.call("Page.captureScreenshot", { format: "png" });
    writeFileSync(file, Buffer.from(data, "base64"));
  }
}
