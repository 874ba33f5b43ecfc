// Owns a headless Firefox: starts it, speaks Marionette with it on loopback, stops it.
// Invariants: no dependency; its profile is a temporary folder that is deleted at the end.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const NAMES = ["firefox-esr", "firefox"];
const START_MS = 60_000;

/** The browser's program: EVERYTAB_FIREFOX, else the first found on the path, else null. */
export function findFirefox() {
  const named = process.env.EVERYTAB_FIREFOX;
  for (const name of named ? [named] : NAMES) {
    if (spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0) return name;
  }
  return null;
}

/** Starts the browser and a session in a window of the given size. */
export async function openFirefox(program, { width = 1280, height = 800 } = {}) {
  const profile = mkdtempSync(join(tmpdir(), "everytab-firefox-"));
  // Port 0: any free one, which the browser then writes into its profile.
  writeFileSync(join(profile, "user.js"), 'user_pref("marionette.port", 0);\n');
  const child = spawn(program, [
    "--headless", "--marionette", "--no-remote", "--profile", profile,
    `--width=${width}`, `--height=${height}`,
  ], { stdio: "ignore", env: { ...process.env, HOME: profile } });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  const firefox = new Firefox(child, profile, gone);
  try {
    await firefox.connect();
  } catch (error) {
    await firefox.close();
    throw error;
  }
  return firefox;
}

class Firefox {
  constructor(child, profile, gone) {
    Object.assign(this, { child, profile, gone });
    this.nextId = 1;
    this.calls = new Map();
    this.rest = Buffer.alloc(0);
  }

  async connect() {
    const end = Date.now() + START_MS;
    for (;;) {
      try {
        const port = Number(readFileSync(join(this.profile, "MarionetteActivePort"), "utf8"));
        this.socket = await new Promise((resolve, reject) => {
          const socket = createConnection(port, "127.0.0.1", () => resolve(socket));
          socket.once("error", reject);
        });
        break;
      } catch (error) {
        if (Date.now() > end) throw error;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
    this.socket.on("data", (bytes) => this.#receive(bytes));
    this.socket.on("error", () => {});
    await this.call("WebDriver:NewSession", { capabilities: {} });
  }

  /** Sends one command; resolves to its result. */
  call(name, parameters = {}) {
    const id = this.nextId;
    this.nextId += 1;
    const text = JSON.stringify([0, id, name, parameters]);
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject });
      this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    });
  }

  open(url) {
    return this.call("WebDriver:Navigate", { url });
  }

  /** The value of a JavaScript expression in the page. */
  async evaluate(expression) {
    const script = `return (${expression});`;
    return (await this.call("WebDriver:ExecuteScript", { script, args: [] })).value;
  }

  /** Waits until the expression is true. */
  async until(name, expression, patienceMs = 30_000) {
    const end = Date.now() + patienceMs;
    for (;;) {
      if (await this.evaluate(expression).catch(() => false)) return;
      if (Date.now() > end) throw new Error(`never came: ${name}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async screenshot(file) {
    const { value } = await this.call("WebDriver:TakeScreenshot", { full: false });
    writeFileSync(file, Buffer.from(value, "base64"));
  }

  async close() {
    const quit = this.socket ? this.call("Marionette:Quit", { flags: ["eForceQuit"] }) : null;
    quit?.catch(() => {});
    if (!quit) this.child.kill();
    const late = setTimeout(() => this.child.kill("SIGKILL"), 10_000);
    await this.gone;
    clearTimeout(late);
    this.socket?.destroy();
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Messages are LENGTH:JSON; the first is a greeting. */
  #receive(bytes) {
    this.rest = Buffer.concat([this.rest, bytes]);
    for (;;) {
      const colon = this.rest.indexOf(58);
      const length = colon < 0 ? NaN : Number(this.rest.subarray(0, colon));
      if (!(this.rest.length >= colon + 1 + length)) return;
      const message = JSON.parse(this.rest.subarray(colon + 1, colon + 1 + length));
      this.rest = this.rest.subarray(colon + 1 + length);
      if (!Array.isArray(message)) continue;
      const [, id, error, result] = message;
      const waiting = this.calls.get(id);
      this.calls.delete(id);
      if (error) waiting?.reject(new Error(`${error.error}: ${error.message}`));
      else waiting?.resolve(result);
    }
  }
}
