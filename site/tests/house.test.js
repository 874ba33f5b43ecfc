// What must be true of the page's files as files: sizes, imports, references, policy.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const SITE = fileURLToPath(new URL("../", import.meta.url));
const read = (path) => readFileSync(SITE + path, "utf8");
const MODULES = readdirSync(`${SITE}js`).sort();
const HTML = read("index.html");
/** Modules that may touch the document; all others run anywhere. */
const DOM_MODULES = ["main.js", "open.js", "tabs.js"];

function importsOf(module) {
  const lines = read(`js/${module}`).split("\n");
  return lines.map((line) => / from "\.\/([a-z]+\.js)";$/.exec(line)?.[1]).filter(Boolean);
}

test("the page stays within its budget, gzipped file by file", () => {
  const gzipped = (path) => gzipSync(read(path), { level: 9 }).length;
  const js = MODULES.reduce((sum, module) => sum + gzipped(`js/${module}`), 0);
  assert.ok(gzipped("index.html") <= 10 * 1024, `HTML ${gzipped("index.html")}`);
  assert.ok(js <= 15 * 1024, `JS ${js}`);
  assert.ok(gzipped("css/everytab.css") <= 5 * 1024, `CSS ${gzipped("css/everytab.css")}`);
});

test("every import is a static line that the publisher can rename", () => {
  for (const module of MODULES) {
    const text = read(`js/${module}`);
    const froms = [...text.matchAll(/\bfrom\s+["']/g)].length;
    assert.equal(importsOf(module).length, froms, module);
    assert.ok(!/\bimport\s*\(|\bimport\.meta|export .* from/.test(text), module);
    for (const imported of importsOf(module)) assert.ok(MODULES.includes(imported), imported);
  }
});

test("imports make no circle and reach every module from main", () => {
  const done = new Set();
  const visit = (module, path) => {
    assert.ok(!path.includes(module), `circle: ${[...path, module].join(" > ")}`);
    if (done.has(module)) return;
    for (const imported of importsOf(module)) visit(imported, [...path, module]);
    done.add(module);
  };
  visit("main.js", []);
  assert.deepEqual([...done].sort(), MODULES);
});

test("pure modules import no module that touches the document, nor name it", () => {
  for (const module of MODULES.filter((name) => !DOM_MODULES.includes(name))) {
    assert.ok(!importsOf(module).some((name) => DOM_MODULES.includes(name)), module);
    const code = read(`js/${module}`).replace(/\/\*[^]*?\*\/|\/\/.*/g, "");
    assert.ok(!/\b(?:document|window|location|navigator|localStorage)\b/.test(code), module);
  }
});

test("the page names only files of its own, by relative paths, and preloads every module", () => {
  const paths = [...HTML.matchAll(/(?:href|src)="([^"]*)"/g)].map((match) => match[1])
    .filter((path) => !path.startsWith("data:"));
  const files = ["css/everytab.css", "manifest.json", ...MODULES.map((module) => `js/${module}`)];
  assert.deepEqual(paths.toSorted(), files.toSorted());
});

test("the policy forbids everything but our own files and https frames", () => {
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(HTML)[1];
  assert.ok(policy.startsWith("default-src 'none';"));
  assert.ok(!/unsafe|\*|http:/.test(policy));
  assert.ok(policy.includes("frame-src https:;"));
  assert.ok(HTML.indexOf("Content-Security-Policy") < HTML.indexOf("<link"));
});

test("nothing in the page's code makes markup or code out of text", () => {
  const sinks =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc/;
  for (const module of MODULES) assert.ok(!sinks.test(read(`js/${module}`)), module);
  assert.ok(!/\son[a-z]+=|<style|\sstyle=|javascript:/i.test(HTML));
});

test("the frame is sandboxed without our origin and told no referrer", () => {
  const text = read("js/open.js");
  assert.ok(text.includes('frame.setAttribute("sandbox", "allow-scripts allow-forms")'));
  assert.ok(text.includes('frame.referrerPolicy = "no-referrer"'));
  assert.ok(text.indexOf("sandbox") < text.indexOf("frame.src"));
});
