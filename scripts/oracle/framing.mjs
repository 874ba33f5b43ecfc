// Compares a table of response headers with Chromium: does it show a page with these headers in a
// frame of the site's viewer, from an https page on another origin? The server sends the bytes of
// this table unchanged, and one load of the viewer judges all rows.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import tls from "node:tls";
import { Chromium, findChromium } from "../../site/tests/chromium.mjs";

const [table, secrets] = process.argv.slice(2);
const VIEWER = "https://viewer.example";
const PAGE = "https://page.example";
/** Policies in `meta` elements must be ignored, so every page has one that would forbid framing. */
const BODY = `<!doctype html><meta http-equiv=X-Frame-Options content=DENY>
<meta http-equiv=Content-Security-Policy content="frame-ancestors 'none'"><title>t</title>`;

/** Each row contains the browser's behaviour, EveryTab's verdict, and header lines. */
function rows() {
  const lines = readFileSync(table, "utf8").split("\n");
  return lines.filter((line) => line && !line.startsWith("#")).map((line, number) => {
    const [theirs, ours, written] = line.split("\t");
    const fields = written.replace(/\\(x([0-9a-f]{2})|n|t)/g, (escape, code, digits) =>
      digits ? String.fromCharCode(parseInt(digits, 16)) : { n: "\r\n", t: "\t" }[code]);
    return { theirs, ours, written, fields, path: `/${number}` };
  });
}

function frameAttributes() {
  const viewer = readFileSync(new URL("../../site/js/viewer.js", import.meta.url), "utf8");
  const [, strings] = /const SANDBOX = ([^;]+);/.exec(viewer);
  const sandbox = [...strings.matchAll(/"([^"]*)"/g)].map(([, text]) => text).join("");
  return `sandbox="${sandbox}" credentialless referrerpolicy=no-referrer`;
}

function answerOf(path, vectors) {
  if (path === "/") {
    const frames = vectors.map((row) => `<iframe ${frameAttributes()} src="${PAGE}${row.path}">` +
      "</iframe>");
    return `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<!doctype html>${frames.join("")}`;
  }
  const row = vectors.find((one) => one.path === path);
  if (!row) return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
  row.isAsked = true;
  const type = /^content-type:/im.test(row.fields) ? "" : "Content-Type: text/html\r\n";
  const fields = row.fields ? `${row.fields}\r\n` : "";
  return `HTTP/1.1 200 OK\r\nServer: x\r\n${type}${fields}\r\n${BODY}`;
}

async function serve(vectors) {
  const read = (name) => readFileSync(join(secrets, name));
  const options = { key: read("key.pem"), cert: read("certificate.pem") };
  const server = tls.createServer(options, (socket) => {
    let request = "";
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      request += bytes.toString("latin1");
      if (!request.includes("\r\n\r\n")) return;
      socket.end(Buffer.from(answerOf(request.split(" ")[1], vectors), "latin1"));
      request = "";
    });
  });
  server.on("tlsClientError", () => {});
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** Returns the URLs in this page's frames, without error pages and empty frames. */
async function framed(page) {
  const { frameTree } = await page.call("Page.getFrameTree");
  return new Set((frameTree.childFrames ?? []).map(({ frame }) => frame)
    .filter(({ unreachableUrl }) => !unreachableUrl).map(({ url }) => url));
}

const program = findChromium();
if (!program) {
  console.error("oracle: framing skipped: no chromium is installed");
  process.exit(0);
}
const vectors = rows();
const server = await serve(vectors);
const browser = new Chromium(program, [
  `--host-resolver-rules=MAP * 127.0.0.1:${server.address().port}`,
  "--ignore-certificate-errors",
  // If one process serves all sites, the frame tree also contains frames from other sites.
  "--disable-site-isolation-trials",
]);
let wrong = 0;
try {
  const page = await browser.page();
  await page.open(VIEWER);
  const isLoaded = `location.origin === '${VIEWER}' && document.readyState === 'complete'`;
  await page.until("the frames have loaded", isLoaded);
  const shown = await framed(page);
  for (const row of vectors) {
    const seen = shown.has(PAGE + row.path) ? "framed" : "refused";
    if (row.isAsked && seen === row.theirs) continue;
    wrong += 1;
    console.log(`oracle: ${row.isAsked ? seen : "never requested"}, and the table says ` +
      `${row.theirs}: ${row.written}`);
  }
} finally {
  await browser.close();
  server.close();
}
const version = execFileSync(program, ["--version"]).toString().trim();
const same = vectors.filter(({ theirs, ours }) => theirs === ours).length;
console.log(`oracle: ${version}: ${vectors.length} sets of headers in a frame, ${wrong} not as ` +
  `the table says; EveryTab says the same of ${same}`);
process.exitCode = wrong === 0 && vectors.length > 0 ? 0 : 1;
