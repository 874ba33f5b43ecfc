// Compares the output of `everytab-worker inspect` for recorded pages with Chromium. Each page is
// served on loopback under its own address with its recorded Content-Type, and no script runs. This
// script reads archives with its own code, so that the code under test does not influence the
// pages.

import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { join, relative } from "node:path";
import zlib from "node:zlib";
import { Chromium, findChromium } from "../../site/tests/chromium.mjs";
import { faultOf } from "./faults.mjs";
import { soup } from "./soup.mjs";

const [inspector, corpus, secrets, report, ...filters] = process.argv.slice(2);
const LEAST_AGREEMENT = 0.995;
const MAX_OUTPUT_BYTES = 1 << 30;
const HTML = /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i;
const POLICY = "default-src 'none'; script-src 'none'";

function filesBelow(folder, end) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path, end);
    return end.test(entry.name) ? [path] : [];
  }).sort();
}

function inspect(...args) {
  const options = { maxBuffer: MAX_OUTPUT_BYTES, stdio: ["ignore", "pipe", "ignore"] };
  let lines;
  try {
    lines = execFileSync(inspector, ["inspect", ...args], options);
  } catch (error) {
    // If a record is damaged, the exit code is 1 and the file's other records are printed.
    lines = error.stdout;
  }
  return lines.toString().split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** Returns the first header field for each name, and the offset where the header ends. */
function readHead(bytes, start) {
  const fields = new Map();
  let at = bytes.indexOf(10, start) + 1;
  for (;;) {
    const end = bytes.indexOf(10, at);
    if (end < 0) return { fields, end: bytes.length };
    const line = bytes.toString("latin1", at, end).replace(/\r+$/, "");
    at = end + 1;
    if (line === "") return { fields, end: at };
    const [, name, value] = /^([^:]*):(.*)$/.exec(line) ?? [];
    if (name && !fields.has(name.toLowerCase())) fields.set(name.toLowerCase(), value.trim());
  }
}

function dechunked(body) {
  const chunks = [];
  for (let at = 0; at < body.length;) {
    const end = body.indexOf(10, at);
    const size = /^\s*([0-9a-f]{1,8})\s*(;.*)?\r?$/i.exec(body.toString("latin1", at, end));
    if (end < 0 || !size) return at === 0 ? body : Buffer.concat([...chunks, body.subarray(at)]);
    const length = parseInt(size[1], 16);
    if (length === 0) break;
    chunks.push(body.subarray(end + 1, end + 1 + length));
    at = end + 1 + length;
    if (body[at] === 13) at += 1;
    if (body[at] === 10) at += 1;
  }
  return Buffer.concat(chunks);
}

function decoded(body, coding) {
  const options = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
  try {
    if (/gzip/i.test(coding)) return zlib.gunzipSync(body, options);
    if (/deflate/i.test(coding)) return zlib.inflateSync(body, options);
    if (/br/i.test(coding)) return zlib.brotliDecompressSync(body);
  } catch {
  }
  return body;
}

function message(archive, offset, end) {
  let record = archive.subarray(offset, end);
  if (record[0] === 0x1f) {
    record = zlib.gunzipSync(record, { finishFlush: zlib.constants.Z_SYNC_FLUSH });
  }
  const warc = readHead(record, 0);
  const length = Number(warc.fields.get("content-length"));
  const block = record.subarray(warc.end, warc.end + length);
  const head = readHead(block, 0);
  let body = block.subarray(head.end);
  if (/chunked/i.test(head.fields.get("transfer-encoding") ?? "")) body = dechunked(body);
  body = decoded(body, head.fields.get("content-encoding") ?? "");
  return { contentType: head.fields.get("content-type"), body };
}

function archived(path) {
  const archive = readFileSync(path);
  const lines = inspect("warc", path);
  const offsets = [...new Set(lines.map((line) => line.offset)), archive.length];
  return lines.filter((line) => line.title !== null || line.icons !== null).flatMap((line) => {
    const end = offsets[offsets.indexOf(line.offset) + 1];
    const { contentType, body } = message(archive, line.offset, end);
    if (!HTML.test(contentType ?? "") || !/^https?:/i.test(line.url ?? "")) return [];
    return [{ name: `${relative(corpus, path)}@${line.offset}`, line, contentType, body }];
  });
}

function plain(paths) {
  const lines = inspect("page", ...paths);
  return paths.map((path, i) => ({
    name: relative(corpus, path),
    line: lines[i],
    contentType: "text/html",
    body: zlib.gunzipSync(readFileSync(path)),
  }));
}

/** A server that sends each document once. */
async function serve() {
  const server = { next: null };
  const answer = (request, response) => {
    const document = server.next;
    const { host, pathname, search } = document?.address ?? {};
    if (request.headers.host !== host || request.url !== pathname + search) {
      return response.writeHead(204).end();
    }
    // Otherwise a page that refreshes itself would reload.
    server.next = null;
    response.writeHead(200, {
      "content-type": Buffer.from(document.contentType, "latin1").toString("latin1"),
      "content-security-policy": POLICY,
      "cache-control": "no-store",
    });
    return response.end(document.body);
  };
  const read = (name) => readFileSync(join(secrets, name));
  const secure = https.createServer(
    { key: read("key.pem"), cert: read("certificate.pem") }, answer);
  const open = http.createServer(answer);
  const both = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (first) => {
      socket.pause();
      socket.unshift(first);
      (first[0] === 22 ? secure : open).emit("connection", socket);
      process.nextTick(() => socket.resume());
    });
  });
  await new Promise((resolve) => both.listen(0, "127.0.0.1", resolve));
  server.port = both.address().port;
  server.close = () => both.close();
  return server;
}

const QUESTION = `(() => ({
  ready: document.readyState,
  url: location.href,
  title: document.title,
  charset: document.characterSet.toLowerCase(),
  kind: document.contentType,
  icons: [...document.querySelectorAll("link[rel][href]")]
    .filter((link) => link instanceof HTMLLinkElement && link.getAttribute("href") !== "")
    .map((link) => ({
      rel: link.rel.toLowerCase().split(/[\\t\\n\\f\\r ]+/).filter(Boolean).join(" "),
      href: link.href,
    })),
}))()`;
const ICON = /(^| )(icon|apple-touch-icon|apple-touch-icon-precomposed)( |$)/;

function isUrl(text) {
  try {
    return Boolean(new URL(text));
  } catch {
    return false;
  }
}

const PARSED = "location.href !== 'about:blank' && document.readyState !== 'loading'";

async function ask(page, server, document) {
  await page.open("about:blank");
  document.address = new URL(document.line.url);
  document.address.hash = "";
  server.next = document;
  await page.open(document.address.href);
  await page.until(document.name, PARSED);
  const seen = await page.evaluate(QUESTION);
  const icons = seen.icons.filter(({ rel, href }) => ICON.test(rel) && isUrl(href));
  return { ...seen, icons: icons.map(({ rel, href }) => `${rel} ${href}`) };
}

/** The browser upgrades some hosts to https, and so also the links on their pages. */
function asUpgraded(icons, document, seen) {
  const isUpgraded = document.address.protocol === "http:" && seen.url.startsWith("https:");
  return isUpgraded ? icons.map((icon) => icon.replace(" http://", " https://")) : icons;
}

function compare(document, seen) {
  const differences = [];
  const title = document.line.title ?? "";
  if (seen.title !== title) differences.push(["title", title, seen.title]);
  const listed = (document.line.icons ?? []).map(({ rel, href }) => `${rel} ${href}`);
  const [ours, theirs] = [listed, seen.icons].map((icons) => asUpgraded(icons, document, seen));
  if (ours.join("\n") !== theirs.join("\n")) {
    differences.push(["icons", ours.join(" | "), theirs.join(" | ")]);
  }
  return differences;
}

const program = findChromium();
if (!program) {
  console.error("oracle: skipped: no chromium is installed");
  process.exit(0);
}
function generated(count, seed) {
  const paths = soup(count, seed).map((html, i) => {
    const path = join(secrets, `soup-${seed}-${i}.html.gz`);
    writeFileSync(path, zlib.gzipSync(html));
    return path;
  });
  return plain(paths).map((one) => ({ ...one, name: one.body.toString() }));
}

const recorded = () => [
  ...filesBelow(join(corpus, "warc"), /\.warc(\.gz)?$/).flatMap(archived),
  ...plain(filesBelow(join(corpus, "html"), /\.html\.gz$/)),
];
const { SOUP, SEED = "1" } = process.env;
const all = SOUP ? generated(Number(SOUP), Number(SEED)) : recorded();
const documents = all.filter(({ name }) =>
  filters.length === 0 || filters.some((word) => name.includes(word)));

const server = await serve();
const browser = new Chromium(program, [
  `--host-resolver-rules=MAP * 127.0.0.1:${server.port}`,
  "--ignore-certificate-errors",
  "--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable",
]);
const rows = [];
let charsets = 0;
let wrong = 0;
const faults = new Map();
try {
  const page = await browser.page();
  for (const document of documents) {
    const seen = await ask(page, server, document);
    if (seen.charset === document.line.charset) charsets += 1;
    else rows.push([document.name, "charset", document.line.charset, seen.charset]);
    const differences = compare(document, seen);
    wrong += differences.length > 0 ? 1 : 0;
    for (const [what, ours, theirs] of differences) {
      const fault = faultOf(document.name, what);
      faults.set(fault, (faults.get(fault) ?? 0) + 1);
      rows.push([document.name, `${what} (${fault})`, ours, theirs]);
    }
  }
} finally {
  await browser.close();
  server.close();
}
writeFileSync(report, rows.map((row) => row.map((cell) =>
  String(cell).replace(/[\t\n\r]/g, " ")).join("\t")).join("\n") + "\n");
const version = execFileSync(program, ["--version"]).toString().trim();
const agreement = 1 - wrong / documents.length;
const right = documents.length - wrong;
console.log(`oracle: ${version}: ${documents.length} documents, ${right} agree on title and ` +
  `icons (${(agreement * 100).toFixed(2)} %), ${charsets} on the charset`);
for (const [fault, count] of faults) console.log(`oracle: ${count} differ: ${fault}`);
console.log(`oracle: differences in ${report} (${statSync(report).size} bytes)`);
process.exitCode = agreement >= LEAST_AGREEMENT ? 0 : 1;
