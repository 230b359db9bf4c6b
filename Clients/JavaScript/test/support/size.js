// Reports the size of the core: every module that strata.js loads, comments removed, in one file.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const folder = new URL("../../", import.meta.url);
const names = new Set(["strata.js"]);
for (const name of names) {
  const text = readFileSync(new URL(name, folder), "utf8");
  for (const [, other] of text.matchAll(/from "\.\/([a-z]+\.js)"/g)) names.add(other);
}
const texts = [...names].map((name) => readFileSync(new URL(name, folder), "utf8"));
const bare = texts.map((text) => text.replace(/^\s*\/\*\*[\s\S]*?\*\/\n?/gm, "").replace(/^\s*\/\/.*\n/gm, ""));
const size = (text) => gzipSync(text, { level: 9 }).length;
const sizes = { modules: names.size, lines: texts.join("").split("\n").length, raw: size(texts.join("")),
  bare: size(bare.join("")) };
console.log(JSON.stringify(sizes));
export default sizes;
