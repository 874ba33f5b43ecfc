// Starts a headless Firefox and speaks WebDriver BiDi with it on loopback. Its profile is deleted
// at the end.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./patience.mjs";
import { openWebSocket } from "./websocket.mjs";

const NAMES = ["firefox-esr", "firefox"];
/** A history step that takes longer than this was dropped, even on a busy host. */
const DROPPED_MS = 10_000;

/** Returns the browser's program: EVERYTAB_FIREFOX, else the first one on the path, else null. */
export function findFirefox() {
  const named = process.env.EVERYTAB_FIREFOX;
  for (const name of named ? [named] : NAMES) {
    if (spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0) return name;
  }
  return null;
}

/** A headless window is active, so that pages in it get focus events, only if `isActive`. */
export async function openFirefox(
  program, { width = 1280, height = 800, preferences = {}, isActive = false } = {},
) {
  const profile = mkdtempSync(join(tmpdir(), "everytab-firefox-"));
  writeFileSync(join(profile, "user.js"), Object.entries(preferences)
    .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`)
    .join(""));
  const child = spawn(program, [
    "--headless", "--remote-debugging-port", "0", "--no-remote", "--profile", profile,
    `--width=${width}`, `--height=${height}`,
  ], { stdio: "ignore", env: { ...process.env, HOME: profile } });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  const firefox = new Firefox(child, profile, gone);
  try {
    await firefox.connect({ width, height }, isActive);
  } catch (error) {
    await firefox.close();
    throw error;
  }
  return firefox;
}

class Firefox {
  troubles = [];

  constructor(child, profile, gone) {
    Object.assign(this, { child, profile, gone });
    this.nextId = 1;
    this.calls = new Map();
  }

  async connect(viewport, isActive) {
    let failure;
    this.socket = await until("firefox", async () => {
      try {
        const text = readFileSync(join(this.profile, "WebDriverBiDiServer.json"), "utf8");
        const { ws_host: host, ws_port: port } = JSON.parse(text);
        const receive = (message) => this.#receive(JSON.parse(message));
        return await openWebSocket({ host, port, path: "/session" }, receive,
          () => this.#failAll());
      } catch (error) {
        failure = error;
        return null;
      }
    }, () => `: ${failure.message}`);
    const capabilities = { alwaysMatch: { acceptInsecureCerts: true } };
    await this.call("session.new", { capabilities });
    // The first window of a headless Firefox never becomes active.
    const { contexts } = await this.call("browsingContext.getTree", {});
    this.context = isActive
      ? (await this.call("browsingContext.create", { type: "window" })).context
      : contexts[0].context;
    await this.call("browsingContext.setViewport", { context: this.context, viewport });
    await this.call("session.subscribe", { events: ["log.entryAdded"] });
  }

  call(method, params) {
    const id = this.nextId;
    this.nextId += 1;
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  open(url) {
    this.troubles = [];
    return this.call("browsingContext.navigate", { context: this.context, url, wait: "complete" });
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.call("script.evaluate", {
      expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value))`,
      target: { context: this.context },
      awaitPromise: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return result.type === "string" ? JSON.parse(result.value) : undefined;
  }

  until(name, expression) {
    return until(name, () => this.evaluate(expression).catch(() => false));
  }

  /**
   * Firefox drops a step that arrives before its parent process has recorded the last one, and no
   * script can see this.
   */
  async step(direction, expression, attempts = 10) {
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      const isStepped = await this.evaluate(`new Promise((done) => {
        window.addEventListener("popstate", () => done(true), { once: true });
        setTimeout(() => done(false), ${DROPPED_MS});
        history.${direction}();
      })`);
      if (isStepped) return this.until(direction, expression);
    }
    throw new Error(`never came: the step ${direction}`);
  }

  async point(points, isDrag = false) {
    const move = ({ x, y }) => ({
      type: "pointerMove", x: Math.round(x), y: Math.round(y), duration: 20,
    });
    const [first, ...others] = points.map(move);
    const actions = isDrag
      ? [first, { type: "pointerDown", button: 0 }, ...others, { type: "pointerUp", button: 0 }]
      : [first, ...others];
    await this.#act({ type: "pointer", id: "mouse", actions });
  }

  click(x, y) {
    return this.point([{ x, y }], true);
  }

  key(value) {
    const actions = [{ type: "keyDown", value }, { type: "keyUp", value }];
    return this.#act({ type: "key", id: "keyboard", actions });
  }

  async screenshot(file) {
    const { data } = await this.call("browsingContext.captureScreenshot", {
      context: this.context,
    });
    writeFileSync(file, Buffer.from(data, "base64"));
  }

  async close() {
    // The program exits when its session ends. If it does not, we stop it.
    const quit = this.socket ? this.call("browser.close", {}) : null;
    quit?.catch(() => {});
    if (!quit) this.child.kill();
    const late = setTimeout(() => this.child.kill("SIGKILL"), 10_000);
    await this.gone;
    clearTimeout(late);
    this.socket?.close();
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }

  async #act(source) {
    const { context } = this;
    const actions = source.type === "pointer"
      ? { ...source, parameters: { pointerType: "mouse" } } : source;
    await this.call("input.performActions", { context, actions: [actions] });
  }

  #receive(message) {
    if (message.method === "log.entryAdded") {
      const { level, text } = message.params;
      if (level === "error") this.troubles.push(text);
      return;
    }
    const waiting = this.calls.get(message.id);
    this.calls.delete(message.id);
    if (message.type === "error") {
      waiting?.reject(new Error(`${message.error}: ${message.message}`));
    } else waiting?.resolve(message.result);
  }

  #failAll() {
    for (const { reject } of this.calls.values()) reject(new Error("firefox ended"));
    this.calls.clear();
  }
}
