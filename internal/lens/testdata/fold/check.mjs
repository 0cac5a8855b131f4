// Compares what fold makes of a golden file's messages with the file's view. It needs no document: a browser can import
// it, and `node check.mjs FOLD GOLDEN…` runs it; with -write first, it writes the views anew.

// foldAll freezes each view and each message, so that a fold that changes one of them throws.
export function foldAll({ fold, start }, messages) {
  return messages.reduce((view, message) => fold(freeze(view), freeze(message)), start());
}

function freeze(value) {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}

// differences lists the fields of the view that are not those of the golden file.
export function differences(folding, golden) {
  const got = foldAll(folding, golden.messages);
  const fields = [...new Set([...Object.keys(got), ...Object.keys(golden.view)])];
  return fields.filter((field) => sorted(got[field]) !== sorted(golden.view[field]))
    .map((field) => `${field}: want ${sorted(golden.view[field])}, got ${sorted(got[field])}`);
}

// sorted writes a value as JSON, with the keys of objects in order.
const sorted = (value) => JSON.stringify(value, (_, v) =>
  (v !== null && typeof v === 'object' && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort()) : v));

// written is a golden file with a line for each message and for each field of the view.
function written({ about, messages }, view) {
  const fields = Object.entries(view).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  const lines = messages.map((message) => JSON.stringify(message));
  return `{"about": ${JSON.stringify(about)},\n"messages": [\n${lines.join(',\n')}\n],\n"view": {\n${fields.join(',\n')}\n}}\n`;
}

if (globalThis.process?.argv[1] === import.meta.filename) {
  const { readFileSync, writeFileSync } = await import('node:fs');
  const { resolve } = await import('node:path');
  const { pathToFileURL } = await import('node:url');
  const write = process.argv[2] === '-write';
  const [folding, ...files] = process.argv.slice(write ? 3 : 2);
  const module = await import(pathToFileURL(resolve(folding)));
  for (const file of files) {
    const golden = JSON.parse(readFileSync(file, 'utf8'));
    if (write) {
      writeFileSync(file, written(golden, foldAll(module, golden.messages)));
      continue;
    }
    for (const difference of differences(module, golden)) {
      console.log(`${file}: ${difference}`);
      process.exitCode = 1;
    }
  }
}
