// A link that carries a session and a moment of it. They stand after the # of the address, which browsers send to no
// server. Whoever opens the link is asked before the session is played: it begins a new world.
import { session as ask } from './connection.js';
import { allows } from './fold.js';
import { CopyButton, Dialog, Refusal, useAct } from './parts.js';
import { html, useEffect, useState } from './ui.js';

const mostCharacters = 8000; // of a link; mail programs and chats cut longer ones

// packed writes a value so that it can stand in an address; unpacked reads it.
export async function packed(value) {
  const stream = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return JSON.parse(await new Response(stream).text());
}

// Events have other numbers when a session is played again. Of an object at a boundary there are the same ones.
const isAlike = (a) => (b) => ['at', 'kind', 'key', 'handler'].every((field) => (a[field] ?? '') === (b[field] ?? ''));

// momentOf names an event of a journey, so that it is found in the journey of another play; seqOf finds it, or is undefined.
export function momentOf(journey, { at, kind, key, handler, seq }) {
  const same = journey.filter(isAlike({ at, kind, key, handler }));
  return { at, kind, key, handler, n: same.findIndex((e) => e.seq === seq) };
}

export const seqOf = (journey, moment) => journey.filter(isAlike(moment))[moment.n]?.seq;

// linkOf returns a link to what is seen: {link, isWhole}. It is not whole if it lacks the session.
export async function linkOf({ view, moment, live, lens }) {
  const here = location.origin + location.pathname; // without the token that one came with
  const at = moment === null ? '' : `at=${live.world}.${moment}`;
  const short = `${here}#${live.path}${at && '?' + at}`;
  if (!allows(live, 'replay')) {
    return { link: short, isWhole: false };
  }
  const event = moment === null ? null : view.events.findLast((e) => e.key);
  const named = event && momentOf(await lens.journey(event.key), event);
  const text = await packed({ session: await ask(), moment: named?.n >= 0 ? named : null });
  const whole = `${here}#${live.path}?${at && at + '&'}session=${text}`;
  return whole.length > mostCharacters ? { link: short, isWhole: false, characters: whole.length } : { link: whole, isWhole: true };
}

// Share is a button that shows the link.
export function Share({ words, ...props }) {
  const { attempt, error } = useAct(props.lens);
  const [shown, setShown] = useState(null);
  const show = async () => setShown(await attempt(() => linkOf(props)) ?? { link: '' });
  return html`<button type="button" data-test="share" onClick=${show}>${words.share}</button>
    ${shown && html`<${Dialog} label=${words.share} close=${() => setShown(null)} words=${words} data-test="share-dialog">
      <h2>${words.share}</h2>
      <p data-test="share-says">${shown.isWhole ? words.shareWhole : words.shareShort(shown.characters, mostCharacters)}</p>
      <p class="line"><input readonly value=${shown.link} aria-label=${words.share} data-test="share-link" onFocus=${(e) => e.target.select()} />
        <${CopyButton} text=${shown.link} name=${words.share} words=${words} /></p>
      <${Refusal} error=${error} />
    <//>`}`;
}

// Linked asks whether the session of the address is to be played.
export function Linked({ view, lens, words, dispatch, whenDone }) {
  const { attempt, error, busy } = useAct(lens);
  const [given, setGiven] = useState(null);
  useEffect(() => {
    const unreadable = () => setGiven({ session: null });
    unpacked(view.linked).then((linked) => (linked ? setGiven(linked) : unreadable()), unreadable);
  }, [view.linked]);
  const play = async () => {
    const done = await attempt(() => playAgain(lens, given));
    if (done) {
      whenDone();
    }
  };
  const actions = given?.session?.actions;
  return given && html`<div role="alert" class="banner others" data-test="linked">
    <p>${actions ? words.linked(actions.length) : words.linkedWrong}</p>
    ${actions && html`<button type="button" disabled=${busy} data-test="linked-play" onClick=${play}>${words.linkedPlay}</button>`}
    <button type="button" class="small" data-test="linked-close" onClick=${whenDone}>${words.close}</button>
    <${Refusal} error=${error} /></div>`;
}

// playAgain plays a session. The page goes to its moment as soon as that has come.
async function playAgain(lens, { session, moment }) {
  const { world } = lens.view();
  let end = () => {};
  if (moment) {
    await lens.choose(moment.key); // so that none of its events is left out
    end = lens.subscribe((view) => {
      const seq = view.world === world ? undefined : seqOf(view.journey, moment);
      if (seq !== undefined || view.world > world + 1) {
        end();
      }
      if (seq !== undefined) {
        lens.goTo(seq);
      }
    });
  }
  try {
    await lens.act('replay', JSON.stringify(session));
  } catch (error) {
    end(); // another world must not be taken for that of the session
    throw error;
  }
  return true;
}
