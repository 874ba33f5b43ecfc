// A static server on loopback with the page's own files, a sample scan, and a CDN's headers.

import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const SITE = fileURLToPath(new URL("../", import.meta.url));
const TYPES = {
  html: "text/html",
  css: "text/css",
  js: "text/javascript",
  json: "application/json",
  webmanifest: "application/manifest+json",
  png: "image/png",
  jpg: "image/jpeg",
  svg: "image/svg+xml",
  ico: "image/x-icon",
  xml: "application/xml",
};
/** Headers for every response, as the CDN and `everytab-worker serve` send them. */
export const HEADERS = JSON.parse(readFileSync(`${SITE}headers.json`, "utf8"));

/**
 * `replace(path)` may return {status, body} or "drop" (close the connection); `late` contains
 * delays in milliseconds by path. With `tls`, {key, cert}, this speaks HTTP/2 as CDNs do. Resolves
 * to {url, asked, close}.
 */
export async function serveSample(
  sample, { base = "/", port = 0, replace = () => null, gzip = false, tls = null, late = {} } = {},
) {
  const asked = [];
  const answerTo = async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://x").pathname);
    asked.push(path);
    const inside = path.startsWith(base) ? path.slice(base.length) : null;
    if (late[inside]) await new Promise((resolve) => setTimeout(resolve, late[inside]));
    const answer = inside === null ? { status: 404 } : (replace(inside) ?? find(sample, inside));
    if (answer === "drop") {
      request.socket.destroy();
      return;
    }
    const pack = gzip && !/\.(?:png|jpg)$/.test(inside ?? "") && answer.body;
    const type = TYPES[(inside || "index.html").split(".").pop()] ?? "text/plain";
    response.writeHead(answer.status, {
      "content-type": `${type}; charset=utf-8`,
      ...HEADERS,
      ...(pack ? { "content-encoding": "gzip" } : {}),
      "cache-control": "no-store",
    });
    const body = answer.body ?? "";
    response.end(pack ? gzipSync(body) : body);
  };
  const server = tls ? createSecureServer(tls, answerTo) : createServer(answerTo);
  const sessions = new Set();
  server.on("session", (session) => sessions.add(session));
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http${tls ? "s" : ""}://127.0.0.1:${server.address().port}${base}`,
    asked,
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections?.();
      for (const session of sessions) session.destroy();
    }),
  };
}

function find(sample, path) {
  if (path === "manifest.json") return { status: 200, body: JSON.stringify(sample.manifest) };
  const bundle = /^tabs\/(\d+)\.json$/.exec(path.slice(sample.prefix.length));
  if (path.startsWith(sample.prefix) && bundle && Number(bundle[1]) < sample.manifest.bundles) {
    return { status: 200, body: JSON.stringify(sample.bundle(Number(bundle[1]))) };
  }
  const link = /^t\/(\d+)\.html$/.exec(path);
  if (link && Number(link[1]) < sample.manifest.bundles) {
    return { status: 200, body: sample.linkPage(Number(link[1])) };
  }
  const tile = /^map\/(\d+)\/(\d+)-(\d+)\.(?:png|jpg)$/.exec(path.slice(sample.prefix.length));
  const bytes = path.startsWith(sample.prefix) && tile &&
    sample.tile?.(...tile.slice(1).map(Number));
  if (bytes) return { status: 200, body: bytes };
  if (path === `${sample.prefix}map/landmarks.tsv` && sample.landmarks) {
    return { status: 200, body: sample.landmarks() };
  }
  const ordered = path.startsWith(`${sample.prefix}map/`) &&
    sample.orderFile?.(path.slice(sample.prefix.length));
  if (ordered) return { status: 200, body: ordered };
  if (path === "stats.json") return { status: 200, body: JSON.stringify(sample.stats()) };
  if (path === "history.json") return { status: 200, body: JSON.stringify(sample.history()) };
  const searched = path.startsWith(`${sample.prefix}search/`)
    ? sample.search(path.slice(`${sample.prefix}search/`.length))
    : undefined;
  if (searched !== undefined) return { status: 200, body: searched };
  const named = /^(?:[a-z0-9]+\.[a-z]+|(?:js|css|icons)\/[a-z0-9-]+\.[a-z]+)$/.test(path);
  const file = SITE + (path || "index.html");
  if ((path === "" || named) && existsSync(file)) return { status: 200, body: readFileSync(file) };
  return { status: 404 };
}
