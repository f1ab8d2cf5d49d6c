// Builds the page into src/binnacle/web/assets: the same sources give the same bytes.
//   node build.mjs [--out FOLDER]
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const HERE = dirname(fileURLToPath(import.meta.url));
const FIRST_VIEW = "src/views/needs_you/view.tsx";
const MAX_FIRST_VIEW_BYTES = 40_000;
const MAX_ALL_BYTES = 90_000;

const asked = process.argv.indexOf("--out");
const out = asked > 0 ? resolve(process.argv[asked + 1]) : resolve(HERE, "../src/binnacle/web/assets");

const result = await build({
  absWorkingDir: HERE,
  entryPoints: { main: "src/main.tsx" },
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["chrome123", "firefox125", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  define: { "process.env.NODE_ENV": '"production"' },
  legalComments: "none",
  metafile: true,
  write: false,
  logLevel: "warning",
});

const files = new Map(result.outputFiles.map((file) => [basename(file.path), Buffer.from(file.contents)]));
const outputs = new Map(Object.entries(result.metafile.outputs).map(([path, value]) => [basename(path), value]));
const main = [...outputs].find(([, value]) => value.entryPoint === "src/main.tsx")[0];
const style = basename(outputs.get(main).cssBundle);
const picture = readFileSync(join(HERE, "src/icon.svg"));
const icon = `icon-${createHash("sha256").update(picture).digest("hex").slice(0, 8)}.svg`;

files.set(icon, picture);
files.set("index.html", Buffer.from(writeIndex()));
files.set("licenses.txt", Buffer.from(collectLicenses()));
writeFiles();
reportSizes();

function writeIndex() {
  const preloads = [...importsOf(main)].filter((name) => name !== main).sort();
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    "<title>Binnacle</title>",
    `<link rel="icon" type="image/svg+xml" href="/assets/${icon}">`,
    `<link rel="stylesheet" href="/assets/${style}">`,
    ...preloads.map((name) => `<link rel="modulepreload" href="/assets/${name}">`),
    `<script type="module" src="/assets/${main}"></script>`,
    "</head>",
    '<body><div id="page"></div><noscript>This page needs JavaScript.</noscript></body>',
    "</html>",
    "",
  ].join("\n");
}

/** A chunk and everything that it imports before it runs. */
function importsOf(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const one of outputs.get(name).imports) {
    if (one.kind === "import-statement") importsOf(basename(one.path), found);
  }
  return found;
}

/** The licenses of what is inside of the built files, which ask to be kept with it. */
function collectLicenses() {
  const packages = JSON.parse(readFileSync(join(HERE, "package.json"), "utf8")).dependencies;
  const texts = Object.keys(packages).sort().map((name) => {
    const folder = join(HERE, "node_modules", name);
    const license = readdirSync(folder).find((file) => file.toLowerCase().startsWith("license"));
    return `${name} ${packages[name]}\n\n${readFileSync(join(folder, license), "utf8").trim()}\n`;
  });
  return texts.join("\n----\n\n");
}

function writeFiles() {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const [name, bytes] of files) {
    writeFileSync(join(out, name), bytes);
    writeFileSync(join(out, `${name}.gz`), compress(bytes));
  }
}

function compress(bytes) {
  const packed = gzipSync(bytes, { level: 9 });
  packed[9] = 255; // the system that packed it, which must not change the file
  return packed;
}

function reportSizes() {
  const sizes = new Map(
    [...files].filter(([name]) => /\.(js|css)$/.test(name)).map(([name, bytes]) => [name, compress(bytes).length]),
  );
  const view = [...outputs].find(([, value]) => value.entryPoint === FIRST_VIEW)[0];
  const first = new Set([...importsOf(main), ...importsOf(view), style]);
  const sum = (names) => [...names].reduce((total, name) => total + sizes.get(name), 0);
  for (const [name, size] of [...sizes].sort((a, b) => b[1] - a[1])) {
    console.log(`${String(size).padStart(7)}  ${first.has(name) ? "first" : "     "}  ${name}`);
  }
  checkSize("first view", sum(first), MAX_FIRST_VIEW_BYTES);
  checkSize("all", sum(sizes.keys()), MAX_ALL_BYTES);
}

function checkSize(what, size, limit) {
  console.log(`${String(size).padStart(7)}  ${what}, gzipped (limit ${limit})`);
  if (size > limit) {
    console.error(`the page is too big: ${what} ${size} of ${limit} bytes`);
    process.exitCode = 1;
  }
}
