// The page's parts, from top to bottom.
import { allows, kinds } from './fold.js';
import { html } from './ui.js';
import { House } from './house.js';
import { Journey } from './journey.js';
import { Beside } from './beside.js';
import { Breakpoints, Gate } from './gate.js';
import { Acts, Storm, World } from './acts.js';
import { Faults } from './faults.js';
import { Sessions } from './sessions.js';
import { Cannot, Guard } from './parts.js';

export default function Page(props) {
  const { view, lens, words, Lessons } = props;
  const inLessons = view.path.startsWith('/lesson');
  const inBeside = view.path.startsWith('/beside');
  // What people act with does not change with each event.
  const deps = [view.gate, view.faults, view.chosen, view.options, view.can, view.lang, view.connected, kinds(view).join()];
  const side = [Acts, Breakpoints, Faults, Storm, Sessions, World].map((part) => html`<${Guard} key=${part} part=${part}
    deps=${deps} ...${props} />`);
  const guarded = (part) => html`<${Guard} key=${part} part=${part} ...${props} />`;
  return html`
    ${guarded(Header)}
    ${guarded(Gate)}
    <div class=${'columns' + (inLessons ? ' in-lesson' : '')}>
      <main>${inBeside ? guarded(Beside) : [House, Journey].map(guarded)}</main>
      <div class="right">
        ${inLessons && html`<aside class="lesson" aria-label=${words.lessons} data-test="lesson">${allows(view, 'reset')
          ? html`<${Guard} part=${Lessons} lens=${lens} lang=${view.lang} path=${view.path} view=${view} words=${words} />`
          : html`<${Cannot} name="lesson" words=${words} />`}</aside>`}
        <aside class="side" data-test="side" aria-label=${words.side}>${side}</aside>
      </div>
    </div>`;
}

function Header({ view, words, setLanguage }) {
  return html`<header>
    <h1>${words.title}</h1>
    <p role="status" data-test="status" class=${view.connected ? 'good' : view.broken ? 'bad' : ''}
      >${view.connected ? words.connected : view.broken ? words.disconnected : words.connecting}</p>
    <p><span data-test="seq">${words.events(view.seq)}</span>${view.leftOut > 0 && html` · <span data-test="left-out"
      class=${view.sampled ? 'sampled' : ''}>${words.leftOut(view.leftOut)}</span>`}</p>
    <nav aria-label=${words.navigation}>
      ${view.path && html`<a href="#">${view.path === '/beside' ? words.toHouse : words.onlyHouse}</a>`}
      <a href="#/beside" data-test="to-beside">${words.beside}${view.beside?.differences > 0 && ' ✗'}</a>
      <a href="#/lessons" data-test="lessons">${words.lessons}</a>
      ${[['en', 'English'], ['zh', '中文']].map(([lang, name]) => html`<button key=${lang} type="button" class="small"
        lang=${lang} aria-pressed=${view.lang === lang} data-test=${'lang-' + lang}
        onClick=${() => setLanguage(lang)}>${name}</button>`)}
    </nav>
  </header>`;
}
