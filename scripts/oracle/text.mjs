// Compares the text that `everytab-worker inspect text` finds in recorded pages with a browser's
// innerText. Pages are served without style sheets, pictures and scripts, so that only attributes
// hide content. Content that the product omits on purpose, such as form fields and formulas, is
// removed from both before the comparison. The agreement is the harmonic mean of precision and
// recall of the words.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import zlib from "node:zlib";
import { Chromium, findChromium } from "../../site/tests/chromium.mjs";

const [inspector, corpus, report, ...filters] = process.argv.slice(2);
const LEAST_AGREEMENT = 0.98;
const MAX_OUTPUT_BYTES = 1 << 30;
const POLICY = "default-src 'none'; script-src 'none'; style-src-attr 'unsafe-inline'";
/** The product shows closed details and dialogs. Select and similar elements are form fields. */
const QUESTION = `(() => {
  for (const element of document.querySelectorAll(
    "select,datalist,object,audio,video,canvas,iframe,svg,math,pre,listing,xmp,rp,textarea")) {
    element.replaceWith(...(/^(pre|listing|xmp)$/i.test(element.localName)
      ? [document.createElement("hr")] : []));
  }
  for (const details of document.querySelectorAll("details")) details.open = true;
  return (document.body ?? document.documentElement).innerText;
})()`;
const READY = "location.href !== 'about:blank' && document.readyState === 'complete'";

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return /\.html\.gz$/.test(entry.name) ? [path] : [];
  }).sort();
}

/** Reads a page without its preformatted blocks. */
function read(path) {
  const body = zlib.gunzipSync(readFileSync(path));
  const line = JSON.parse(execFileSync(inspector, ["inspect", "page", path],
    { maxBuffer: MAX_OUTPUT_BYTES }).toString().split("\n")[0]);
  return Buffer.from(new TextDecoder(line.charset ?? "utf-8").decode(body));
}

function ours(paths) {
  const args = ["inspect", "text", "--text-bytes", String(8 << 20), ...paths];
  const options = { maxBuffer: MAX_OUTPUT_BYTES, stdio: ["ignore", "pipe", "inherit"] };
  return execFileSync(inspector, args, options).toString().split("\n").filter(Boolean)
    .map((line) => JSON.parse(line).text ?? "");
}

const UNSEEN =
  /[\u00ad\u200b\u2060\ufeff\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]/g;
const words = (text) => text.replace(UNSEEN, "")
  .split(/[\s\u0085]+/).filter(Boolean);

function agreement(left, right) {
  const counts = new Map();
  for (const word of left) counts.set(word, (counts.get(word) ?? 0) + 1);
  let common = 0;
  const missing = [];
  for (const word of right) {
    const count = counts.get(word) ?? 0;
    if (count > 0) {
      counts.set(word, count - 1);
      common += 1;
    } else missing.push(word);
  }
  const more = [...counts].filter(([, count]) => count > 0).map(([word]) => word);
  const sum = left.length + right.length;
  return { share: sum === 0 ? 1 : (2 * common) / sum, more, missing };
}

const program = findChromium();
if (!program) {
  console.error("oracle: skipped: no chromium is installed");
  process.exit(0);
}
const isWanted = (path) =>
  filters.length === 0 || filters.some((word) => path.includes(word));
const paths = filesBelow(join(corpus, "html")).filter(isWanted);
const folder = mkdtempSync(join(tmpdir(), "everytab-oracle-"));
const pages = paths.map((path, i) => {
  // A preformatted block may be a drawing for one program and text for the other.
  const html = read(path).toString()
    .replace(/<(pre|listing|xmp)\b[^>]*>[\s\S]*?<\/\1\s*>/gi, "<hr>");
  const copy = join(folder, `${i}.html`);
  writeFileSync(copy, `<meta charset=utf-8>${html}`);
  return { name: relative(corpus, path), copy, html: readFileSync(copy) };
});
const texts = ours(pages.map(({ copy }) => copy));
let next = null;
const server = http.createServer((request, response) => {
  if (request.url !== "/page" || !next) return response.writeHead(204).end();
  const body = next;
  next = null;
  response.writeHead(200, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": POLICY,
    "cache-control": "no-store",
  });
  return response.end(body);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const browser = new Chromium(program, [
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]);
const rows = [];
let sum = 0;
let same = 0;
try {
  const page = await browser.page();
  for (const [i, { name, html }] of pages.entries()) {
    await page.open("about:blank");
    next = html;
    await page.open(`http://127.0.0.1:${server.address().port}/page`);
    await page.until(name, READY);
    const seen = await page.evaluate(QUESTION);
    const { share, more, missing } = agreement(words(texts[i]), words(seen));
    sum += share;
    same += share === 1 ? 1 : 0;
    if (share < 1) {
      const some = (words) => words.slice(0, 12).join(" ");
      rows.push([share.toFixed(4), name, some(more), some(missing)]);
    }
  }
} finally {
  await browser.close();
  server.close();
  rmSync(folder, { recursive: true, force: true });
}
rows.sort();
writeFileSync(report, rows.map((row) => row.join("\t")).join("\n") + "\n");
const mean = sum / pages.length;
console.log(`oracle: ${pages.length} pages: ${same} have the same words as the browser, mean ` +
  `agreement ${(mean * 100).toFixed(2)} %, least ${rows[0]?.[0] ?? 1}; ${report}`);
process.exitCode = mean >= LEAST_AGREEMENT ? 0 : 1;
