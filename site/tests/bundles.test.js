import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";
import {
  bundlePath, fetchFile, readBundle, readEntry, readIcon, readManifest, readTitle,
} from "../js/bundles.js";
import { pictureLoader } from "../js/map-pictures.js";
import { findBundleOf } from "../js/search-files.js";
import { generator } from "../js/stream.js";
import { HOSTILE_TITLES, iconPng, sampleSite } from "./sample.mjs";

const MANIFEST = sampleSite({ bundles: 3 }).manifest;
const ICON = iconPng(32, generator(1)).toString("base64");

test("a manifest as published is read", () => {
  const manifest = readManifest({ ...MANIFEST, overrides: { 2: "tabs/2-abc123.json" } });
  assert.equal(manifest.bundles, 3);
  assert.equal(manifest.hosts, 360);
  assert.equal(manifest.contact, "");
  const contact = (address) => readManifest({ ...MANIFEST, contact: address }).contact;
  assert.equal(contact("mailto:me@tabs.example"), "mailto:me@tabs.example");
  assert.equal(contact("https://tabs.example/write"), "https://tabs.example/write");
  assert.equal(contact("javascript:alert(1)"), "");
  assert.equal(manifest.crawl, "CC-MAIN-2099-05");
  assert.equal(bundlePath(manifest, 1), `${MANIFEST.prefix}tabs/1.json`);
  assert.equal(bundlePath(manifest, 2), `${MANIFEST.prefix}tabs/2-abc123.json`);
});

test("a manifest of zero bundles is a manifest", () => {
  assert.equal(readManifest({ ...MANIFEST, bundles: 0 }).bundles, 0);
});

test("what is no manifest is refused", () => {
  const bad = [
    null, 1, "x", [], {}, { bundles: 1 },
    ...[-1, 1.5, "3", 1e300, null].map((bundles) => ({ ...MANIFEST, bundles })),
  ];
  for (const value of bad) assert.equal(readManifest(value), null, JSON.stringify(value));
});

test("a manifest can't lead to paths outside the site", () => {
  const prefixes = [
    "", "/", "/scans/", "../", "scans/../../", "https://evil.example/", "//evil.example/", "a//b/",
    "scans/x", ".hidden/", "scans\\x/", "data:,/", "a/?x/", `${"a/".repeat(200)}`,
  ];
  for (const prefix of prefixes) {
    assert.equal(readManifest({ ...MANIFEST, prefix }), null, prefix);
  }
  const overrides = { 0: "../1.json", 1: "/etc.json", 2: 5, x: "tabs/1.json", 3: "tabs/3.html" };
  assert.equal(readManifest({ ...MANIFEST, overrides }).overrides.size, 0);
  assert.equal(readManifest({ ...MANIFEST, overrides: [1] }).overrides.size, 0);
});

test("an entry as bundled is read", () => {
  const tab = readEntry({
    url: "https://example.com",
    title: "Example Domain",
    icon: ICON,
    icon_w: 32,
    icon_h: 32,
    iframe_ok: true,
  });
  assert.deepEqual(tab, {
    url: "https://example.com/",
    host: "example.com",
    title: "Example Domain",
    icon: `data:image/png;base64,${ICON}`,
    frameable: true,
  });
});

test("a tab without an icon or a title is still a tab", () => {
  const tab = readEntry({ url: "https://example.com", title: "", icon: "", iframe_ok: false });
  assert.equal(tab.icon, "");
  assert.equal(tab.title, "example.com");
  assert.equal(tab.frameable, false);
});

test("only plain http and https addresses are linked", () => {
  const bad = [
    undefined, null, 5, "", "example.com", "javascript:alert(1)", "JaVaScRiPt:alert(1)",
    " \tjavascript:alert(1)", "data:text/html,x", "blob:https://a.example/x", "file:///etc/passwd",
    "ftp://example.com", "https://user@example.com", "https://user:pass@example.com", "https://",
    `https://example.com/${"a".repeat(2048)}`,
  ];
  for (const url of bad) assert.equal(readEntry({ url, title: "x", icon: "" }), null, String(url));
});

test("a host that may be private is never framed", () => {
  const tab = (host) => readEntry({ url: `https://${host}/`, title: "x", iframe_ok: true });
  const refused = [
    "localhost", "localhost.", "intranet", "a.localhost", "printer.local", "printer.local.",
    "db.eu.internal", "nas.lan", "a.home.arpa", "10.0.0.1", "127.1", "2130706433", "0x7f.1",
    "169.254.169.254", "192.168.1.1", "8.8.8.8", "[::1]", "[fd00:ec2::254]", "[::ffff:10.0.0.1]",
  ];
  for (const host of refused) assert.equal(tab(host).frameable, false, host);
  const framed = ["example.com", "10.example.com", "local.example", "internal.eu", "mylocal.eu"];
  for (const host of framed) assert.equal(tab(host).frameable, true, host);
});

test("the page never frames its own host", () => {
  const urls = ["https://tabs.example/", "https://tabs.example./a", "https://other.example/"];
  const entries = urls.map((url) => ({ url, title: "x", iframe_ok: true }));
  const framed = readBundle({ entries }, "tabs.example").map((tab) => tab.frameable);
  assert.deepEqual(framed, [false, false, true]);
});

test("a page that is not https is never framed", () => {
  const frameable = (url, ok) => readEntry({ url, title: "x", icon: "", iframe_ok: ok }).frameable;
  assert.equal(frameable("http://example.com", true), false);
  assert.equal(frameable("https://example.com", "true"), false);
  assert.equal(frameable("https://example.com", 1), false);
  assert.equal(frameable("https://example.com", true), true);
});

test("only small pictures that say they are PNG become icons", () => {
  assert.equal(readIcon(ICON), `data:image/png;base64,${ICON}`);
  const base64 = (text) => Buffer.from(text).toString("base64");
  const bad = [
    undefined, 7, "", "iVBORw0KGgo=", base64("<svg xmlns='http://www.w3.org/2000/svg'/>   "),
    base64(`GIF89a${"x".repeat(60)}`), `${ICON}"onload="x`, `${ICON}\n`, ` ${ICON}`,
    "A".repeat(100_000), ICON.slice(0, 20),
  ];
  for (const icon of bad) assert.equal(readIcon(icon), "", String(icon).slice(0, 40));
});

test("a PNG that claims to be huge or empty is no icon", () => {
  const png = Buffer.from(ICON, "base64");
  for (const [width, height] of [[30_000, 30_000], [32, 2 ** 31], [0, 32], [129, 32]]) {
    png.writeUInt32BE(width, 16);
    png.writeUInt32BE(height, 20);
    assert.equal(readIcon(png.toString("base64")), "", `${width}x${height}`);
  }
});

test("titles lose what could turn a line around, and nothing else", () => {
  assert.equal(readTitle("Tom & Jerry's <b>page</b>"), "Tom & Jerry's <b>page</b>");
  assert.equal(readTitle("a\u202eb\u2066c\u0000d\ne"), "abc d e");
  assert.equal(readTitle("\u200b\u200d\u2060\ufeff"), "");
  assert.equal(readTitle("مكتبة"), "مكتبة");
  assert.equal(readTitle("👩‍🌾 farm"), "👩‍🌾 farm");
  assert.equal(readTitle(`Ze${"\u0301".repeat(40)}d`), `Ze${"\u0301".repeat(4)}d`);
  assert.equal(readTitle("नमस्ते བསྒྲུབས"), "नमस्ते བསྒྲུབས");
  assert.equal(readTitle(undefined), "");
  assert.equal([...readTitle("🌿".repeat(1_000))].length, 300);
  for (const title of HOSTILE_TITLES) {
    assert.ok(!/[\u0000-\u001f\u202a-\u202e\u2066-\u2069]/.test(readTitle(title)));
  }
});

test("a bundle keeps its good entries and drops the others", () => {
  const good = { url: "https://a.example", title: "A", icon: "" };
  const tabs = readBundle({ entries: [null, good, 5, [], {}, { url: "javascript:1" }, good] });
  assert.equal(tabs.length, 2);
  assert.deepEqual(readBundle({ entries: [] }), []);
});

test("what is no bundle is refused", () => {
  for (const value of [null, [], {}, { entries: {} }, { entries: "x" }, 3]) {
    assert.equal(readBundle(value), null);
  }
});

test("random garbage in any field never throws", () => {
  const random = generator(77);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const junk = () => pick([
    null, undefined, 0, -1, NaN, "", "\ud800", "x".repeat(5_000), [], {}, [[]], true, ICON,
    "https://[", "https://a.example", () => 1, Symbol.iterator, 10n,
  ]);
  for (let i = 0; i < 20_000; i += 1) {
    const entry = { url: junk(), title: junk(), icon: junk(), iframe_ok: junk() };
    const tabs = readBundle({ entries: [entry, junk()] });
    for (const tab of tabs) assert.match(tab.url, /^https?:\/\//);
    readManifest({ bundles: junk(), prefix: junk(), overrides: junk(), hosts: junk() });
  }
});

test("a fetch ends as a value or as one of three troubles", async () => {
  const answer = (status, body) => async () => ({
    status,
    ok: status >= 200 && status < 300,
    json: async () => JSON.parse(body),
  });
  assert.deepEqual(await fetchFile("x", { fetcher: answer(200, "{\"a\":1}") }),
    { value: { a: 1 } });
  assert.deepEqual(await fetchFile("x", { fetcher: answer(200, "{") }), { trouble: "broken" });
  assert.deepEqual(await fetchFile("x", { fetcher: answer(404, "") }), { trouble: "missing" });
  assert.deepEqual(await fetchFile("x", { fetcher: answer(403, "") }), { trouble: "missing" });
  assert.deepEqual(await fetchFile("x", { fetcher: answer(503, "") }), { trouble: "network" });
  assert.deepEqual(await fetchFile("x", { fetcher: answer(429, "") }), { trouble: "network" });
  const fails = async () => {
    throw new TypeError("failed");
  };
  assert.deepEqual(await fetchFile("x", { fetcher: fails }), { trouble: "network" });
});

test("each fetch has a time limit: a server that never answers is no network", async () => {
  const { timeout } = AbortSignal;
  const server = createServer(() => {});
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}/`;
  const limits = [];
  AbortSignal.timeout = (ms) => {
    limits.push(ms);
    return timeout.call(AbortSignal, 50);
  };
  try {
    assert.deepEqual(await fetchFile(url), { trouble: "network" });
    const found = await findBundleOf("a.example", url);
    assert.equal(found.trouble, "Couldn't search for a.example: the search index didn't load.");
    const loaded = await pictureLoader({ prefix: url, overrides: new Map() }, {
      grid: 11, extension: "png", overrides: new Map(),
    })("tile 0/0-0", new AbortController().signal);
    assert.deepEqual(loaded, { trouble: "network" });
    assert.equal(limits.length, 3);
    assert.ok(limits.every((ms) => ms <= 20_000), `${limits}`);
  } finally {
    AbortSignal.timeout = timeout;
    server.closeAllConnections();
    server.close();
  }
});
