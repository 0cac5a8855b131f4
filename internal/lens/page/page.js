// The page's parts, from top to bottom.
import { html } from './ui.js';

export default function Page({ view, lens, words, Lessons }) {
  const inLessons = view.path.startsWith('/lesson');
  return html`
    <header><h1>${words.title}</h1><p role="status">${view.connected ? words.connected : words.disconnected}</p></header>
    <div class="columns">
      <main><pre>${JSON.stringify(view.counts, null, 1)}</pre></main>
      ${inLessons && html`<aside aria-label=${words.lessons}><${Lessons} lens=${lens} lang=${view.lang} path=${view.path} /></aside>`}
    </div>`;
}
