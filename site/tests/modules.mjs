// The page's modules and their imports, for tests.

import { readdirSync, readFileSync } from "node:fs";

const JS = new URL("../js/", import.meta.url);
export const MODULES = readdirSync(JS).sort();

const read = (module) => readFileSync(new URL(module, JS), "utf8");

/** The modules that a module imports. */
export function importsOf(module) {
  const lines = read(module).split("\n");
  return lines.map((line) => / from "\.\/([a-z-]+\.js)";$/.exec(line)?.[1]).filter(Boolean);
}

/** The modules that a module imports when they are needed. */
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
