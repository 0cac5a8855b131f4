// Says which words one of the languages lacks, which the page uses that are in none, and which button of a lesson's text
// is not on the page: node check.mjs PAGE.
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const page = process.argv[2];
const load = (file) => import(pathToFileURL(resolve(page, file)));
const { en } = await load('words.en.js');
const { zh } = await load('words.zh.js');

// shape lists the paths of all words, those of functions with the number of what they take.
const shape = (words, path = '') => Object.entries(words).flatMap(([name, value]) => {
  const here = path + name;
  return typeof value === 'object' ? shape(value, here + '.') : [typeof value === 'function' ? `${here}(${value.length})` : here];
});
const lacks = (some, others, language) => others.filter((word) => !some.includes(word))
  .forEach((word) => console.log(`${language} lacks ${word}`));
lacks(shape(en), shape(zh), 'English');
lacks(shape(zh), shape(en), 'Chinese');

const used = new Set();
const isOfThePage = (name) => name.endsWith('.js') && name !== 'lessons.js' && !name.startsWith('words');
for (const file of readdirSync(page).filter(isOfThePage)) {
  for (const [, word] of readFileSync(join(page, file), 'utf8').matchAll(/(?<!\/)\bwords\.(\w+)/g)) {
    used.add(word);
    if (!(word in en)) {
      console.log(`${file} uses words.${word}, which is not there`);
    }
  }
}
Object.keys(en).filter((word) => !used.has(word)).forEach((word) => console.log(`no file uses words.${word}`));

// Texts write what is on a button, or a choice of a list, between “ and ”.
const texts = (words) => Object.values(words).flatMap((value) => (typeof value === 'object' ? texts(value) : [value]));
for (const file of readdirSync(join(page, 'lessons')).filter((name) => name.endsWith('.md'))) {
  const known = texts(file.endsWith('.zh.md') ? zh : en);
  for (const [, word] of readFileSync(join(page, 'lessons', file), 'utf8').matchAll(/“([^”]+)”/g)) {
    if (!known.includes(word)) {
      console.log(`${file} speaks of “${word}”, which is not on the page`);
    }
  }
}
