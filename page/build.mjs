// Builds the page into src/binnacle/web/assets: the same sources give the same bytes.
//   node build.mjs [--out FOLDER]
import zopfli from "@gfx/zopfli";
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { minify } from "terser";

const HERE = dirname(fileURLToPath(import.meta.url));
const MAX_FIRST_VIEW_BYTES = 40_000;
const MAX_ALL_BYTES = 90_000;

const asked = process.argv.indexOf("--out");
const out = asked > 0 ? resolve(process.argv[asked + 1]) : resolve(HERE, "../src/binnacle/web/assets");

const shared = {
  absWorkingDir: HERE,
  outdir: out,
  bundle: true,
  minify: true,
  target: ["chrome123", "firefox125", "safari17.5"],
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  legalComments: "none",
  metafile: true,
  write: false,
  logLevel: "warning",
};

const files = new Map();
const outputs = new Map();

// Styles first: their names are part of the code that loads them.
const sheets = ["main", "work", "system"];
await run({ entryPoints: Object.fromEntries(sheets.map((name) => [name, `src/styles/${name}.css`])) });
const styles = Object.fromEntries(sheets.map((name) => [name, outputOf(`src/styles/${name}.css`)]));

await run({
  entryPoints: { main: "src/main.tsx" },
  splitting: true,
  format: "esm",
  // Calls of `h` are smaller than what the newer transformation writes.
  jsx: "transform",
  jsxFactory: "h",
  jsxFragment: "Fragment",
  inject: ["src/jsx.ts"],
  tsconfigRaw: "{}",
  define: {
    STYLES: JSON.stringify({ work: `/assets/${styles.work}`, system: `/assets/${styles.system}` }),
    "process.env.NODE_ENV": '"production"',
  },
});
const main = outputOf("src/main.tsx");
await shrinkScripts();

const picture = readFileSync(join(HERE, "src/icon.svg"));
const icon = `icon-${createHash("sha256").update(picture).digest("hex").slice(0, 8)}.svg`;

files.set(icon, picture);
files.set("index.html", Buffer.from(writeIndex()));
files.set("licenses.txt", Buffer.from(collectLicenses()));
const packed = await packAll();
writeFiles();
reportSizes();

async function run(options) {
  const result = await build({ ...shared, ...options });
  for (const file of result.outputFiles) files.set(basename(file.path), Buffer.from(file.contents));
  for (const [path, value] of Object.entries(result.metafile.outputs)) outputs.set(basename(path), value);
}

/** Makes scripts a thirtieth smaller than esbuild does, compressed. */
async function shrinkScripts() {
  const options = { module: true, compress: { ecma: 2020, passes: 3, keep_fargs: false }, format: { ecma: 2020 } };
  for (const [name, bytes] of files) {
    if (name.endsWith(".js")) files.set(name, Buffer.from((await minify(bytes.toString(), options)).code));
  }
}

function outputOf(entryPoint) {
  return [...outputs].find(([, value]) => value.entryPoint === entryPoint)[0];
}

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
    `<link rel="stylesheet" href="/assets/${styles.main}">`,
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
    writeFileSync(join(out, `${name}.gz`), packed.get(name));
  }
}

/** Every file as gzip, which zopfli makes 3 % smaller than zlib does, and the same on every machine. */
async function packAll() {
  const all = [...files].map(async ([name, bytes]) => [name, await zopfli.gzipAsync(bytes, { numiterations: 15 })]);
  return new Map(await Promise.all(all));
}

function reportSizes() {
  const sizes = new Map(
    [...packed].filter(([name]) => /\.(js|css)$/.test(name)).map(([name, bytes]) => [name, bytes.length]),
  );
  const first = new Set([...importsOf(main), styles.main]);
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
