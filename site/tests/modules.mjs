// The page's modules and their imports.

import { readdirSync, readFileSync } from "node:fs";

const JS = new URL("../js/", import.meta.url);
export const MODULES = readdirSync(JS).sort();

const read = (module) => readFileSync(new URL(module, JS), "utf8");

export function importsOf(module) {
  const lines = read(module).split("\n");
  return lines.map((line) => / from "\.\/([a-z-]+\.js)";$/.exec(line)?.[1]).filter(Boolean);
}

export function laterImportsOf(module) {
  return [...read(module).matchAll(/\bimport\("\.\/([a-z-]+\.js)"\)/g)].map((match) => match[1]);
}

/** The module and all modules that it imports, directly or not. */
export function closure(module, edges = importsOf) {
  const reached = new Set();
  const visit = (name) => {
    if (reached.has(name)) return;
    reached.add(name);
    edges(name).forEach(visit);
  };
  visit(module);
  return [...reached].sort();
}
