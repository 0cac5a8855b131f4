// The page: one view, folded from the stream and from what the person chooses, shown by components.
//
// Reading order: fold.js (the view), connection.js (the stream and the acts), this file, page.js (what is where); then
// places.js, house.js and boxes.js, gate.js, acts.js and faults.js, journey.js, lanes.js and timeline.js, shortcuts.js and
// share.js. Lessons are in lessons.js.
import { act, connect, journey, snapshot } from './connection.js';
import { fold, start } from './fold.js';
import { keep } from './past.js';
import { recall } from './remember.js';
import { replayer, slownesses } from './replay.js';
import { stands } from './story.js';
import { html, render } from './ui.js';
import { firstLanguage, rememberLanguage, wordsOf } from './words.js';
import Lessons from './lessons.js';
import Page from './page.js';

const drawEvery = 100; // milliseconds, at least, between two renderings
const calmAfter = 500; // milliseconds after a sample, after which the page is drawn as a whole again
const addressAfter = 300; // milliseconds after the last step of the time line
const askEvery = 2000; // milliseconds, at least, between two questions for the stores' contents

let view = { ...start(), lang: firstLanguage(), ...place() };
let history = []; // of views: see past.js
const viewers = new Set();
const listeners = new Set();
let heard = 0; // the newest event that the listeners got

// What lessons, and the browser's console, may use.
export const lens = {
  act: begun,
  journey,
  view: () => view,
  // subscribe calls f(view) after each message, until the function that it returns is called.
  subscribe: (f) => subscribe(viewers, f),
  // events calls f(events, view) with each run of events that came, each event once.
  events: (f) => subscribe(listeners, f),
  // skip ends the slow replay of what is over.
  skip: () => replay.skip(),
  choose,
  goTo,
  // tell says whether the story is told.
  tell: (is) => dispatch({ type: 'told', is }),
  // decides marks an event on the time line as the one that decides the lesson.
  decides: (seq) => dispatch({ type: 'decisive', seq }),
};
window.lens = lens;

// place reads the address: #PATH?at=WORLD.SEQ&session=PACKED.
function place() {
  const [path, query] = location.hash.slice(1).split('?');
  const given = new URLSearchParams(query);
  const [world, seq] = (given.get('at') ?? '').split('.').map(Number);
  return { path, moment: seq > 0 ? { world, seq } : null, linked: given.get('session') ?? '' };
}

// goTo shows the page as it was after an event; null is now. The address says so a moment later, for whoever it is sent to:
// a browser refuses an address that changes with each step of a slider that is dragged.
let addressing = 0;
let address = location.hash; // that the view is of
function goTo(seq) {
  dispatch({ type: 'path', path: view.path, moment: seq === null ? null : { world: view.world, seq }, linked: view.linked });
  clearTimeout(addressing);
  addressing = setTimeout(writeAddress, addressAfter);
}

function writeAddress() {
  const { path, moment } = view;
  if (location.hash === address) { // else a link was followed meanwhile
    window.history.replaceState(null, '', `#${path}${moment ? `?at=${moment.world}.${moment.seq}` : ''}`);
    address = location.hash;
  }
}

// begun does an act. The world that one of these begins is this page's own.
const begins = ['reset', 'replay', 'beside'];
let beginning = false;
async function begun(name, body) {
  beginning ||= begins.includes(name);
  const done = await act(name, body).catch((error) => {
    beginning = false;
    throw error;
  });
  const of = touched(name, body, done);
  if (of !== undefined) {
    dispatch({ type: 'acted', of });
  }
  return done;
}

// touched is what an act let go or changed, null after a pause or its end, and undefined if the act says nothing of it.
function touched(name, body, done) {
  const all = { step: done?.released ?? undefined, apply: done?.applied?.at(-1), delete: body, pause: null, run: null };
  return all[name];
}

// whose tells whether another page began the world of a message.
function whose(before) {
  if (before.world !== 0 && view.world !== before.world) {
    view = fold(view, { type: 'others', is: !beginning });
    beginning = false;
  }
}

// unlink forgets the session of the address.
function unlink() {
  dispatch({ type: 'path', path: view.path, moment: view.moment });
  writeAddress();
}

function subscribe(set, f) {
  set.add(f);
  return () => set.delete(f);
}

function dispatch(message) {
  const before = view;
  view = fold(view, message);
  if (view === before) {
    return;
  }
  whose(before);
  if (message.data) {
    history = keep(history, view);
  }
  const brings = message.type === 'snapshot' || message.type === 'tick';
  const fresh = brings ? message.data.events.filter((e) => e.seq > (view.seq < before.seq ? 0 : heard)) : []; // or the program was started again
  if (brings) {
    heard = view.seq;
    askForContents(before);
  }
  if (fresh.length > 0) {
    listeners.forEach((f) => f(fresh, view));
  }
  viewers.forEach((f) => f(view));
  sampledAt = view.sampled ? view.at : sampledAt;
  // After the last message of a storm a tick comes without an event.
  const isOfStorm = message.type === 'tick' && message.data.events.length > 0 && view.at - sampledAt < calmAfter;
  isWhole = isWhole || !isOfStorm;
  draw();
  if (brings) {
    replay.take(fresh, view); // last, for it changes the view
  }
}

const replay = replayer({
  show: (dots) => dispatch({ type: 'dots', dots }),
  speed: () => recall('slowness') ?? slownesses[0],
  stands: (step) => (view.isTold ? stands(step) : 0),
});

// Ticks do not bring the indices. After a change of a store they are asked for.
let asking = false;
function askForContents(before) {
  if (asking || view.pulse.stored === before.pulse.stored || view.world !== before.world) {
    return;
  }
  asking = true;
  const ask = async () => {
    asking = false;
    const { world } = view;
    const data = await snapshot();
    const isThere = await reached(data); // contents that are newer than the events would be those of a moment that is not theirs
    if (isThere && data.world === world && view.world === world && !view.gate.muted) { // else it would show what nobody is to see
      dispatch({ type: 'contents', data });
    }
  };
  setTimeout(() => ask().catch(() => {}), askEvery); // without a connection there will be a snapshot later
}

// reached waits until the page has the events up to a snapshot, and says so. In another world it never has them. A server that
// was started again may number its worlds, and its events, as the one before.
function reached({ world, seq }) {
  const from = view.seq;
  const isOver = () => view.world !== world || view.seq < from;
  return new Promise((resolve) => {
    const look = () => {
      if (isOver() || view.seq >= seq) {
        end();
        resolve(!isOver());
      }
    };
    const end = subscribe(viewers, look);
    look();
  });
}

// draw renders once a frame at most, and no more often than drawEvery. In a storm the house and all else take turns, so that
// no frame is long.
let waiting = false;
let drawn = -Infinity;
let isWhole = true; // the next rendering is of the whole page
let sampledAt = -Infinity;
let turn = 'house';
function draw() {
  if (waiting) {
    return;
  }
  waiting = true;
  const show = () => requestAnimationFrame((now) => {
    waiting = false;
    drawn = now;
    turn = turn === 'house' ? 'rest' : 'house';
    const only = isWhole ? '' : turn;
    isWhole = false;
    render(html`<${Page} only=${only} ...${props()} />`, document.getElementById('page'));
  });
  const left = drawn + drawEvery - performance.now();
  if (left > 0) {
    setTimeout(show, left);
  } else {
    show();
  }
}

const props = () => ({ view, history, lens, dispatch, words: wordsOf(view.lang), choose, goTo, unlink, setLanguage, Lessons });

function setLanguage(lang) {
  rememberLanguage(lang);
  speak(lang);
  dispatch({ type: 'language', lang });
}

// speak tells the browser the language of the page, and gives its tab a name in it.
function speak(lang) {
  document.documentElement.lang = lang;
  document.title = `${wordsOf(lang).title} · glasswatch`;
}

// choose makes a key the one that is looked at. Its events so far come from the server; from now on none is left out.
async function choose(key) {
  dispatch({ type: 'choose', key });
  connection.follow(key);
  if (key) {
    dispatch({ type: 'journey', key, events: await journey(key).catch(() => []) });
  }
}

speak(view.lang);
addEventListener('hashchange', () => {
  clearTimeout(addressing);
  address = location.hash;
  dispatch({ type: 'path', ...place() });
});
const connection = connect(dispatch);
draw();
