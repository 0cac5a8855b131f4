// Reads a lesson's text: a little Markdown. Sections are known by their order, so that each language has its own headings.
//
//   # title
//   ## state, question, explanation, goal, hint, wrong, decides, reached
//   1. an answer                 in the question, and in wrong what is to be said of those that are not right
//
// Paragraphs may have `code`. There is nothing else.
import { html, useEffect, useState } from '../ui.js';

const names = ['state', 'question', 'explanation', 'goal', 'hint', 'wrong', 'decides', 'reached'];

/** parse returns {title, state, question, …, answers, wrong}. A section is {heading, paragraphs}; wrong has texts by number. */
export function parse(markdown) {
  const [head, ...sections] = markdown.split(/^## /m);
  const text = { title: head.replace(/^# /, '').trim(), answers: [], wrong: {} };
  sections.forEach((section, i) => {
    const [heading, ...blocks] = section.trim().split(/\n\n+/);
    if (names[i] === 'wrong') {
      text.wrong = Object.fromEntries([...section.matchAll(/^(\d)\. (.+)$/gm)].map(([, n, why]) => [n, why]));
      return;
    }
    const isAnswer = (block) => /^\d\. /.test(block);
    text[names[i]] = { heading, paragraphs: blocks.filter((b) => !isAnswer(b)) };
    for (const block of blocks.filter(isAnswer)) {
      text.answers.push(...block.split(/^\d\. /m).slice(1).map((answer) => answer.trim()));
    }
  });
  return text;
}

const texts = new Map(); // promises, by address

function load(file, lang) {
  const address = `lessons/${file}.${lang}.md`;
  if (!texts.has(address)) {
    const read = async () => {
      const response = await fetch(address);
      if (!response.ok) throw new Error(`${address}: ${response.status}`);
      return parse(await response.text());
    };
    texts.set(address, read());
    texts.get(address).catch(() => texts.delete(address)); // the next look tries again
  }
  return texts.get(address);
}

/** useTexts returns the texts of some files, null until they are there. */
export function useTexts(files, lang) {
  const [loaded, setLoaded] = useState(null);
  const key = `${lang} ${files.join(' ')}`;
  useEffect(() => {
    let wanted = true;
    Promise.all(files.map((file) => load(file, lang)))
      .then((all) => wanted && setLoaded({ key, all }), (error) => wanted && setLoaded({ key, all: null, error }));
    return () => { wanted = false; };
  }, [key]);
  return loaded?.key === key ? loaded.all : null;
}

/** Inline shows a line with `code`. */
export const Inline = ({ text }) => text.split('`').map((part, i) => (i % 2 ? html`<code>${part}</code>` : part));

/** Section shows a section, its heading first. */
export const Section = ({ section, children }) => html`<section>
  <h3>${section.heading}</h3>
  ${section.paragraphs.map((text) => html`<p><${Inline} text=${text} /></p>`)}
  ${children}
</section>`;
