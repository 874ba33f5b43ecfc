// Checks the page's files without a browser.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { closure, importsOf, laterImportsOf, MODULES } from "./modules.mjs";

const SITE = fileURLToPath(new URL("../", import.meta.url));
const read = (path) => readFileSync(SITE + path, "utf8");
const HTML = read("index.html");
const PAGES = ["index.html", "map.html", "stats.html", "about.html", "bot.html", "404.html"];
const DOM_MODULES = [
  "address.js", "card-picture.js", "card-style.js", "charts.js", "close-all.js", "closing-bar.js",
  "closing.js", "copy.js", "descriptions.js", "dive.js", "dragging.js", "elements.js",
  "hover-card.js", "interaction.js", "key-list.js", "keyboard.js", "link.js", "main.js",
  "map-card.js", "map-gestures.js", "map-list.js", "map-orders.js", "map-painter.js",
  "map-sharing.js", "map-view.js", "map.js", "marquee.js", "motion-button.js", "new-tab.js",
  "odometer.js", "open-card.js", "opening.js", "page-skin.js", "reading-order.js", "row-gap.js",
  "scroll-anchor.js", "search.js", "share-address.js", "share-bar.js", "share-dialog.js",
  "share.js", "site-card.js", "stats.js", "steps.js", "style.js", "tab-groups.js", "tabs.js",
  "viewer.js", "visit-summary.js", "wall-sharing.js",
];
const SITE_URL = "https://everytab.example/";

test("the first view stays within its budget, gzipped file by file", () => {
  const gzipped = (path) => gzipSync(read(path), { level: 9 }).length;
  const js = closure("main.js").reduce((sum, module) => sum + gzipped(`js/${module}`), 0);
  assert.ok(gzipped("index.html") <= 10 * 1024, `HTML ${gzipped("index.html")}`);
  assert.ok(js <= 18 * 1024, `JS ${js}`);
  assert.ok(gzipped("css/everytab.css") <= 6 * 1024, `CSS ${gzipped("css/everytab.css")}`);
});

test("every import is a static line that the publisher can rename", () => {
  for (const module of MODULES) {
    const text = read(`js/${module}`);
    const froms = [...text.matchAll(/\bfrom\s+["']/g)].length;
    assert.equal(importsOf(module).length, froms, module);
    const later = laterImportsOf(module);
    assert.equal(later.length, [...text.matchAll(/\bimport\s*\(/g)].length, module);
    assert.ok(!/\bimport\.meta|export .* from/.test(text), module);
    for (const imported of [...importsOf(module), ...later]) {
      assert.ok(MODULES.includes(imported), imported);
    }
  }
});

test("imports make no circle and reach every module", () => {
  const done = new Set();
  const visit = (module, path) => {
    assert.ok(!path.includes(module), `circle: ${[...path, module].join(" > ")}`);
    if (done.has(module)) return;
    const all = [...importsOf(module), ...laterImportsOf(module)];
    for (const imported of all) visit(imported, [...path, module]);
    done.add(module);
  };
  visit("main.js", []);
  visit("stats.js", []);
  visit("copy.js", []);
  visit("map.js", []);
  visit("page-skin.js", []);
  visit("link.js", []);
  assert.deepEqual([...done].sort(), MODULES);
});

test("pure modules import no module that touches the document, nor name it", () => {
  for (const module of MODULES.filter((name) => !DOM_MODULES.includes(name))) {
    assert.ok(!importsOf(module).some((name) => DOM_MODULES.includes(name)), module);
    const code = read(`js/${module}`).replace(/\/\*[^]*?\*\/|\/\/.*/g, "");
    assert.ok(!/\b(?:document|window|location|navigator|localStorage)\b/.test(code), module);
  }
});

test("pages name only files of their own, and the first one preloads what it needs", () => {
  for (const page of PAGES) {
    const paths = [...read(page).matchAll(/(?:href|src|content)="([^" ]*)"/g)]
      .map((match) => match[1].replace(SITE_URL, "").replace(/#.*/, ""))
      .filter((path) => /^(?!data:|https:|mailto:).*\.[a-z]+$/.test(path));
    for (const path of paths) {
      const made = ["manifest.json", "stats.json", "preview.png"].includes(path);
      assert.ok(made || existsSync(SITE + path.replace(/^\//, "")), `${page} names ${path}`);
      assert.equal(path.startsWith("/"), page === "404.html", `${page} names ${path}`);
    }
  }
  for (const module of MODULES) {
    for (const [, path] of read(`js/${module}`).matchAll(/"(css\/[^"]*)"/g)) {
      assert.ok(existsSync(SITE + path), `${module} names ${path}`);
    }
  }
  for (const [html, module] of [[HTML, "main.js"], [read("map.html"), "map.js"]]) {
    const preloaded = [...html.matchAll(/modulepreload" href="js\/([a-z-]+\.js)"/g)]
      .map((match) => match[1]);
    assert.deepEqual([...preloaded, module].sort(), closure(module));
  }
});

test("the policy forbids everything but our own files and https frames, on every page", () => {
  const headers = JSON.parse(read("headers.json"));
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(HTML)[1];
  assert.ok(policy.startsWith("default-src 'none';"));
  assert.ok(!/unsafe|\*|http:/.test(policy));
  assert.ok(policy.includes("frame-src https:;"));
  // A meta tag cannot forbid framing: only the header can.
  assert.equal(headers["content-security-policy"].replace(" frame-ancestors 'none';", ""), policy);
  for (const page of PAGES) {
    const html = read(page);
    assert.ok(html.includes(`Content-Security-Policy" content="${policy}"`), page);
    assert.ok(html.indexOf("Content-Security-Policy") < html.indexOf("<link"), page);
  }
});

function commonHead(page) {
  const head = /<head>([^]*)<\/head>/.exec(read(page))[1];
  const own = [
    /^<title>/, /^<meta name="(?:description|theme-color|robots|twitter:card)"/,
    /^<meta property="og:/, /^<script /, /^<noscript>/,
    /^<link rel="(?:apple-touch-icon|canonical|modulepreload|preload)"/,
  ];
  return head.trim().split("\n")
    .filter((line) => !own.some((pattern) => pattern.test(line)))
    .map((line) => line.replace('href="/', 'href="'));
}

test("a robot such as our own finds an icon at the usual address and in every head", () => {
  const icon = readFileSync(`${SITE}favicon.ico`);
  assert.equal(icon.readUInt32LE(0), 0x00010000);
  const sides = Array.from({ length: icon.readUInt16LE(4) }, (_, i) => icon[6 + 16 * i]);
  assert.deepEqual(sides, [16, 32, 48]);
  for (const page of PAGES) assert.match(read(page), /<link rel="icon" href="\/?favicon\.ico"/);
});

test("the heads of all pages agree but for what each page says of itself", () => {
  const [first, ...others] = PAGES.map(commonHead);
  assert.match(first.join("\n"), /charset[^]*Content-Security-Policy[^]*referrer[^]*rel="icon"/);
  const styles = [
    '<link rel="stylesheet" href="css/pages.css">',
    '<link rel="stylesheet" href="css/modes.css" ' +
      'media="print, (forced-colors: active), (prefers-contrast: more)">',
  ];
  for (const [i, head] of others.entries()) {
    const expected = PAGES[i + 1] === "map.html"
      ? styles.map((style) => style.replace("pages", "map")) : styles;
    assert.deepEqual(head, [...first, ...expected], PAGES[i + 1]);
  }
  // The style is set before the first painting, by a script that is not a module.
  for (const page of PAGES.slice(1)) {
    assert.match(read(page), /<script src="\/?js\/page-skin\.js"><\/script>\n/, page);
  }
  for (const page of PAGES.filter((name) => name !== "404.html")) {
    const address = SITE_URL + (page === "index.html" ? "" : page);
    for (const tag of [
      `<link rel="canonical" href="${address}">`,
      `<meta property="og:url" content="${address}">`,
      `<meta property="og:image" content="${SITE_URL}preview.png">`,
    ]) {
      assert.ok(read(page).includes(`\n${tag}\n`), `${page}: ${tag}`);
    }
    assert.ok(read("sitemap.xml").includes(`<loc>${address}</loc>`), page);
  }
  for (const page of PAGES) {
    const html = read(page);
    assert.equal(html.split('<meta name="theme-color"').length, 3, page);
    for (const tag of ["title>", 'meta name="description"']) {
      assert.equal(html.split(`<${tag}`).length, 2, `${page}: one <${tag}`);
    }
  }
});

test("every export of a module says what it is", () => {
  for (const module of MODULES) {
    for (const [before] of read(`js/${module}`).matchAll(/[^\n]*\nexport /g)) {
      assert.ok(before.includes("*/"), `${module}: ${before}`);
    }
  }
});

test("only tabs.js changes the fields of the wall and its rows", () => {
  for (const module of MODULES.filter((name) => name !== "tabs.js")) {
    const changes = read(`js/${module}`).match(/\b(?:wall|row)\.\w+ [-+]?= .*/g);
    assert.equal(changes, null, module);
  }
});

test("nothing in the page's code makes markup or code out of text", () => {
  const sinks =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc/;
  for (const module of MODULES) assert.ok(!sinks.test(read(`js/${module}`)), module);
  for (const page of PAGES) {
    assert.ok(!/\son[a-z]+=|<style|\sstyle=|javascript:/i.test(read(page)), page);
  }
});

test("the frame is sandboxed before it loads, and gets no referrer", () => {
  const text = read("js/viewer.js");
  assert.ok(!/allow-(?:top|modals|downloads|pointer|presentation|orientation)/.test(text));
  assert.ok(text.includes('frame.referrerPolicy = "no-referrer"'));
  for (const name of ["sandbox", "credentialless"]) {
    assert.ok(text.indexOf(`frame.setAttribute("${name}"`) < text.indexOf("frame.src"), name);
  }
});
