// The chosen object's version on the server, in the store and as each handler was told last, side by side.
import { versions } from './connection.js';
import { keepObjects } from './fold.js';
import { html, useEffect, useMemo, useState } from './ui.js';

const none = 'none'; // it was there and is not, or is not there

const rvOf = (e) => (!e ? '' : ['DELETED', 'DELETE', 'OnDelete', 'removed'].includes(e.action) ? none : e.rv);

// versionsOf returns, for each kind that has the key, its version in each place: [name, rv]; rv is '' where it is not
// known. The server's is what it answered when it was asked, in {got, seq}, or the newest that it sent.
export function versionsOf(view, server) {
  const newest = (kind, at, handler) => view.journey.findLast((e) => e.kind === kind && at.includes(e.at) && (!handler || e.handler === handler));
  return Object.entries(view.state?.informers ?? {}).sort().reverse().flatMap(([name, { kind, handlers }]) => {
    const last = newest(kind, ['sent', 'decoded']);
    const sent = rvOf(last);
    const asked = server && !(last?.seq > server.seq); // else the server's answer is older than what it sent
    const stored = view.stores[name]?.objects[view.chosen] ?? (isWhole(view.stores[name]) ? none : '');
    const places = [['server', asked ? server.got[kind] ?? none : sent], ['store', stored],
      ...(handlers ?? []).map((h) => [h.Name, rvOf(newest(kind, ['called'], h.Name))])];
    const isKnown = places.some(([, rv]) => rv && rv !== none) || sent;
    return isKnown ? [{ kind, places, sent }] : [];
  });
}

// unsent lists what the server has stored of the chosen object, and the informer has not heard: {kind, rv}; rv is '' after a deletion.
export const unsent = (view, server) => versionsOf(view, server)
  .filter(({ places: [[, rv], [, stored]], sent }) => server && stored && ![sent, stored].includes(rv))
  .map(({ kind, places: [[, rv]] }) => ({ kind, rv: rv === none ? '' : rv }));

// differs reports whether a version is known not to be the server's.
export const differs = ([[, server]], rv) => server !== '' && rv !== '' && rv !== server;

// isWhole reports whether all keys of a store are listed.
const isWhole = (store) => !!store && Object.keys(store.objects).length < keepObjects;

// answerAt returns what the server had said last about the chosen object, up to the event seq; null is nothing.
export const answerAt = (answers, about, seq) => answers.findLast((a) => a.about === about && a.heard <= seq) ?? null;

const gathers = 100; // milliseconds, after which a question is asked
const mostAnswers = 200;

// asker returns a function that asks the server about a key, in {key, about, seq}, and passes each answer on. It asks one question
// after another, so that no answer is older than the one before; of those that wait, the newest.
export function asker(answer) {
  let wanted = null;
  let isAsking = false;
  return async (question) => {
    wanted = question;
    if (isAsking) {
      return;
    }
    isAsking = true;
    while (wanted) {
      await new Promise((resolve) => { setTimeout(resolve, gathers); });
      const asked = wanted;
      wanted = null;
      const got = await versions(asked.key).catch(() => null); // a server that is down keeps what it has
      if (got) {
        answer({ ...asked, got: got.versions, heard: got.seq });
      }
    }
    isAsking = false;
  };
}

// useServer asks the server for its versions of the chosen object whenever it may have changed, and returns the answer as it was at
// the moment seq. It is null where that cannot be asked, and for a moment at which it was not.
export function useServer(view, seq) {
  const [answers, setAnswers] = useState([]); // oldest first
  const ask = useMemo(() => asker((answer) => setAnswers((old) => [...old, answer].slice(-mostAnswers))), []);
  const about = `${view.world} ${view.chosen}`;
  useEffect(() => {
    if (view.chosen && view.state?.server) {
      ask({ key: view.chosen, about, seq: view.seq });
    }
  }, [about, view.state?.server?.revision, view.seq]);
  return answerAt(answers, about, seq);
}

export function Versions({ view, server, words }) {
  if (!view.chosen) {
    return html`<p class="versions none" data-test="versions">${words.versionsNone}</p>`;
  }
  return html`<p class="versions" data-test="versions"><b>${view.chosen}</b>${versionsOf(view, server).map(({ kind, places }) => html`
    <span key=${kind} class="kind">${kind} ${places.map(([name, rv]) => {
      const isOther = differs(places, rv);
      const place = name === 'server' && view.past && !server ? 'sent' : name;
      return html`<span key=${name} class=${'version' + (isOther ? ' differs' : '')} data-test=${`version-${kind}-${name}`}
        data-differs=${isOther}>${isOther ? '≠ ' : ''}${words.places[place] ?? name} <b>${rv === none ? words.notThere : rv ? '@' + rv : '–'}</b></span> `;
    })}</span>`)}</p>`;
}
