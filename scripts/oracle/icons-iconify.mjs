// Writes the icons from an @iconify-json package as SVG files, like Iconify does.
//
//     node scripts/oracle/icons-iconify.mjs FOLDER
//
// FOLDER contains the package's icons.json. This script replaces it with NAME.svg for each icon.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder] = process.argv.slice(2);
const source = join(folder, "icons.json");
const { icons, ...all } = JSON.parse(readFileSync(source, "utf8"));
for (const [name, icon] of Object.entries(icons)) {
  const { left = 0, top = 0, width = 16, height = 16, body } = { ...all, ...icon };
  writeFileSync(join(folder, `${name}.svg`),
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ' +
    `width="${width}" height="${height}" viewBox="${left} ${top} ${width} ${height}">${body}` +
    "</svg>\n");
}
rmSync(source);
