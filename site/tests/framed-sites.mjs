// An HTTPS server on loopback for websites in frames. Its pages report which of their parts worked.

import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { makeCertificate } from "./certificate.mjs";

const FONTS = "/usr/share/fonts";
/** The left half is a link that opens a new tab, the right half one that leads elsewhere. */
const PAGE = `<!doctype html><title>A site</title>
<style>
  @font-face { font-family: own; src: url(/own.ttf); }
  body { font: 30px own; } a { position: fixed; inset: 0 50% 0 0; } a + a { inset: 0 0 0 50%; }
</style>
<p>A site with a font, a module and a request of its own.</p>
<a href="/opened" target="_blank">new tab</a><a href="https://elsewhere.example/">elsewhere</a>
<script type="module" src="/own.js"></script>`;
const MODULE = `
const report = (what) => fetch("/report?" + what, { mode: "no-cors" });
report("module");
document.fonts.load("30px own").then((all) => report("fonts " + all.length), () => report("no"));
fetch("/own.json").then((answer) => answer.json()).then(({ value }) => report("fetch " + value));`;
const OPENED = `<!doctype html><title>Opened</title><script>
fetch("/report?opened as " + window.origin, { mode: "no-cors" })</script>`;
/** Takes the focus on loading, at any later time, and all keys. */
const GRASPING = `<!doctype html><title>Grasping</title><input autofocus><script>
const report = (what) => fetch("/report?" + what, { mode: "no-cors" });
const grasp = () => document.querySelector("input").focus();
addEventListener("load", () => { grasp(); report("grasped"); });
addEventListener("message", grasp);
setInterval(grasp, 50);
addEventListener("keydown", (event) => event.preventDefault(), true);
addEventListener("pointerdown", () => report("pressed"));
</script>`;
const LEADING = `<!doctype html><title>Leading</title><script>
location.replace("https://elsewhere.example/")</script>`;
const ELSEWHERE = "<!doctype html><title>Elsewhere</title><p>Another site";

/** Resolves to {port, reports, close}. */
export async function serveFramedSites() {
  const reports = [];
  const answers = {
    "/own.ttf": ["font/ttf", anyFont()],
    "/own.js": ["text/javascript", MODULE],
    "/own.json": ["application/json", '{"value":7}'],
    "/opened": ["text/html", OPENED],
    "/": ["text/html", PAGE],
  };
  const server = createServer(makeCertificate(), (request, response) => {
    const { pathname, search } = new URL(request.url, "https://x");
    if (pathname === "/report") reports.push(decodeURIComponent(search.slice(1)));
    const pages = { "elsewhere.example": ELSEWHERE, "grasping.example": GRASPING,
      "leading.example": LEADING };
    const page = pathname === "/" ? pages[request.headers.host] : undefined;
    const [type, body] = page !== undefined
      ? ["text/html", page] : answers[pathname] ?? ["text/plain", ""];
    response.writeHead(200, { "content-type": type });
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: server.address().port,
    reports,
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}

function anyFont() {
  const file = readdirSync(FONTS, { recursive: true }).find((name) => /\.(?:ttf|otf)$/.test(name));
  if (!file) throw new Error(`no font in ${FONTS}; install fonts-dejavu-core`);
  return readFileSync(join(FONTS, file));
}
