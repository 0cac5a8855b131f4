// The page's parts, from top to bottom.
import { allows, kinds } from './fold.js';
import { html, useEffect } from './ui.js';
import { House } from './house.js';
import { Journey } from './journey.js';
import { Beside } from './beside.js';
import { Breakpoints, Gate } from './gate.js';
import { Acts, Storm, World } from './acts.js';
import { Faults } from './faults.js';
import { Look } from './look.js';
import { Play, isPlayed } from './play.js';
import { momentIn, stillHeld, toldIn, viewAt } from './past.js';
import { Sessions } from './sessions.js';
import { Linked } from './share.js';
import { Help } from './shortcuts.js';
import { Cannot, Guard } from './parts.js';

// wayOf is the one of the three ways that the address names. Where there is nothing to play with, one looks.
function wayOf(view) {
  if (view.path.startsWith('/lesson')) {
    return 'learn';
  }
  return view.path === '/look' || !isPlayed(view) ? 'look' : 'play';
}

export default function Page(props) {
  const { view, lens, words, Lessons } = props;
  const way = wayOf(view);
  const inBeside = view.path.startsWith('/beside');
  useEffect(() => document.getElementById('side').scrollTo(0, 0), [view.path]);
  // What people act with does not change with each event.
  const deps = [view.gate, view.faults, view.chosen, view.options, view.can, view.lang, view.connected, kinds(view).join()];
  const side = [Acts, Breakpoints, Faults, Storm, Sessions, World].map((part) => html`<${Guard} key=${part} part=${part}
    deps=${deps} ...${props} />`);
  // Of the pictures, the house is drawn in one turn, and all else in the other: see draw.
  const rests = (isHouse) => props.only === (isHouse ? 'rest' : 'house');
  const tools = html`<aside class="side" data-test="side" aria-label=${words.side}>${side}</aside>`;
  const guarded = (part) => html`<${Guard} key=${part} part=${part} rests=${rests(false)} ...${props} />`;
  const moment = momentIn(view);
  const shown = { ...props, moment, live: view, view: moment === null ? told(props) : viewAt(props.history, view, moment) };
  const picture = (part) => html`<${Guard} key=${part} part=${part} rests=${rests(part === House)} ...${shown} />`;
  return html`
    <a class="skip" href="#main" onClick=${(e) => focusOn(e, 'main')}>${words.toMain}</a>
    <a class="skip" href="#side" data-test="to-side" onClick=${(e) => focusOn(e, 'side')}>${words.toSide}</a>
    ${guarded(Header)}
    ${view.broken && html`<${Dead} refused=${view.refused} words=${words} />`}
    ${view.linked && view.connected && html`<${Linked} ...${props} whenDone=${props.unlink} />`}
    ${view.isOthers && html`<p role="alert" class="banner others" data-test="others">${words.otherWorld} <button type="button" class="small"
      onClick=${() => props.dispatch({ type: 'others', is: false })}>${words.close}</button></p>`}
    ${guarded(Gate)}
    <div class=${'columns' + (way === 'learn' ? ' in-lesson' : '') + (view.broken ? ' dead' : '')} inert=${view.broken}>
      <main id="main" tabindex="-1">${inBeside ? guarded(Beside) : [House, Journey].map(picture)}</main>
      <div class="right" id="side" tabindex="-1">
        ${way === 'learn' && html`<aside class="lesson" aria-label=${words.lessons} data-test="lesson">${allows(view, 'reset')
          ? html`<${Guard} part=${Lessons} rests=${rests(false)} lens=${lens} lang=${view.lang} page=${words} path=${view.path} view=${view} words=${words} />`
          : html`<${Cannot} name="lesson" words=${words} />`}</aside>`}
        ${way !== 'learn' && html`<aside class="way-panel" aria-label=${words[way]}>${guarded(way === 'look' ? Look : Play)}</aside>`}
        ${way === 'learn' ? html`<details class="tools" open=${view.path.endsWith('/break')}><summary data-test="tools">${words.side}</summary>${tools}</details>` : tools}
      </div>
    </div>`;
}

// told is the view of the moment that the dots show, as far as it is known, with the faults of now, and what is held still.
function told({ view, history }) {
  const seq = toldIn(view);
  const then = seq !== null && viewAt(history, view, seq);
  return then && then.state ? { ...then, faults: view.faults, gate: stillHeld(then.gate, view) } : view;
}

// focusOn puts the focus on a part. What follows # in the address stays: it is the page's place.
function focusOn(event, id) {
  event.preventDefault();
  document.getElementById(id).focus();
}

function Header({ view, words, setLanguage }) {
  const way = wayOf(view);
  const ways = [
    { name: 'learn', place: '#/lessons', test: 'lessons', label: words.learn, title: words.learnIs },
    { name: 'play', place: '#', test: 'to-play', label: words.play, title: words.playIs },
    { name: 'look', place: '#/look', test: 'to-look', label: words.look, title: words.lookIs },
  ];
  const inBeside = view.path.startsWith('/beside');
  return html`<header>
    <h1>${words.title}</h1><p class="sentence" data-test="sentence">${words.sentence}</p>
    <p class="state"><span role="status" data-test="status" class=${view.connected ? 'good' : view.broken ? 'bad' : ''}
      >${view.connected ? words.connected : view.broken ? words.disconnected : words.connecting}</span>
      ${' · '}<span data-test="seq">${words.events(view.seq)}</span>${view.leftOut > 0 && html` · <span data-test="left-out"
      class=${view.sampled ? 'sampled' : ''}>${words.leftOut(view.leftOut)}</span>`}</p>
    <nav class="ways" aria-label=${words.navigation}>
      ${ways.map(({ name, place, test, label, title }) => html`<a key=${name} href=${place} class="way-link" title=${title}
        data-test=${test} aria-current=${name === way && !inBeside ? 'page' : undefined}>${label}</a>`)}
      <a href="#/beside" data-test="to-beside" aria-current=${inBeside ? 'page' : undefined}
        >${words.beside}${view.beside?.differences > 0 && ' ✗'}</a>
      ${[['en', 'English'], ['zh', '中文']].map(([lang, name]) => html`<button key=${lang} type="button" class="small"
        lang=${lang} aria-pressed=${view.lang === lang} data-test=${'lang-' + lang}
        onClick=${() => setLanguage(lang)}>${name}</button>`)}
      <${Help} words=${words} />
    </nav>
  </header>`;
}

// Dead says what to do when the server does not answer, or not to this page any more.
const Dead = ({ refused, words }) => html`<p role="alert" class="banner" data-test="dead" data-refused=${refused}
  >${words.refused[refused] ?? words.dead}</p>`;
