// The page's words, in the languages that there are.
import { en } from './words.en.js';
import { zh } from './words.zh.js';
import { recall, remember } from './remember.js';

const languages = { en, zh };

// firstLanguage is the one chosen before, else the first of the browser's that there is, else English.
export function firstLanguage() {
  const wanted = [recall('language'), ...navigator.languages.map((tag) => tag.split('-')[0])];
  return wanted.find((lang) => lang in languages) ?? 'en';
}

export const rememberLanguage = (lang) => remember('language', lang);
export const wordsOf = (lang) => languages[lang];
