// Look: what is behind in the world that is seen, what is slow, what is reconciled most and why, and how to see one's own
// cluster or program here.
import { html, useEffect, useRef, useState } from './ui.js';
import { CopyButton, Key, useSlowly } from './parts.js';

const most = 5; // rows of a table
const askEvery = 2000; // milliseconds, at least, between two questions for journeys
const inARow = 3; // reconciles that a key's own writes have led to, from which on it wakes itself

const commands = [
  ['cluster', 'go run ./cmd/lens --kubeconfig ~/.kube/config --resource pods'],
  ['program', 'go run ./cmd/lens --attach 127.0.0.1:9090 --attach-token-file token'],
];

// reconciles counts how often each key was reconciled, among the events that are kept, with the most frequent first.
export function reconciles(events) {
  const counts = new Map();
  for (const { at, key, error } of events) {
    if (at === 'reconciled') {
      const { n, failed } = counts.get(key) ?? { n: 0, failed: 0 };
      counts.set(key, { n: n + 1, failed: failed + (error ? 1 : 0) });
    }
  }
  return [...counts].map(([key, count]) => ({ key, ...count })).sort((a, b) => b.n - a.n).slice(0, most);
}

// behind lists what waits: the deltas of each informer, and what each handler was not told yet. The longest come first.
export function behind({ state }) {
  const rows = Object.values(state?.informers ?? {}).flatMap(({ kind, queued, handlers }) => [
    { name: `${kind} deltafifo`, n: queued }, ...(handlers ?? []).map((h) => ({ name: `${kind} ${h.Name}`, n: h.Depth })),
  ]);
  return rows.filter(({ n }) => n > 0).sort((a, b) => b.n - a.n).slice(0, most);
}

// slowest lists the handlers with their calls, in microseconds: {name, most, mean, n, since}. since is when the call began
// that has not returned, or undefined. A handler has one call at a time. One that panics does not return.
export function slowest(events) {
  const handlers = new Map();
  for (const { at, kind, handler, key, us } of events.filter((e) => e.at === 'called' || e.at === 'returned')) {
    const name = `${kind} ${handler}`;
    const { most: longest = 0, sum = 0, n = 0, call } = handlers.get(name) ?? {};
    const took = at === 'returned' && call?.key === key ? us - call.us : -1;
    const ended = took < 0 ? { most: longest, sum, n } : { most: Math.max(longest, took), sum: sum + took, n: n + 1 };
    handlers.set(name, { ...ended, call: at === 'called' ? { key, us } : undefined });
  }
  const rows = [...handlers].map(([name, { most: longest, sum, n, call }]) => ({ name, most: longest, mean: n && sum / n, n, since: call?.us }));
  return rows.sort((a, b) => (a.since ?? Infinity) - (b.since ?? Infinity) || b.most - a.most).slice(0, most);
}

// whyOf tells why a key was reconciled the last n times, from its journey: {reasons, wakesItself}. reasons are [reason, n], the
// most frequent first, and add up to n: a reconcile that several led to has them as one, with + between. As in the package
// lens, a key wakes itself if its last reconciles had no other causes than its own writes.
export function whyOf(journey, n) {
  const known = new Map(journey.map((e) => [e.seq, e]));
  const causesOf = (e) => (e.because ?? []).flatMap((seq) => known.get(seq) ?? []);
  const own = new Set(journey.filter((e) => e.at === 'decided' && e.rv).map((e) => e.rv));
  const runs = journey.filter((e) => e.at === 'taken').map((e) => causesOf(e).map((cause) => reasonOf(cause, causesOf(cause)[0], own)));
  const counts = new Map();
  Array.from({ length: n }, (_, i) => [...new Set(runs.at(i - n))].join('+') || 'unknown').forEach((reason) => counts.set(reason, (counts.get(reason) ?? 0) + 1));
  const last = runs.slice(-inARow);
  return {
    reasons: [...counts].sort((a, b) => b[1] - a[1]),
    wakesItself: last.length === inARow && last.every((reasons) => reasons.length > 0 && reasons.every((reason) => reason.startsWith('own'))),
  };
}

const actions = { OnAdd: 'add', OnUpdate: 'update', OnDelete: 'delete' };

// reasonOf names what queued a key, such as "update Service", by the event and the one that led to it.
function reasonOf({ at }, before, own) {
  if (at === 'putoff') {
    return before?.error ? 'retry' : 'later';
  }
  if (!before) {
    return 'unknown';
  }
  const { kind, action, initial, old, rv } = before;
  const told = initial ? 'list' : action === 'OnUpdate' && old === rv ? 'resync' : '';
  return `${told || (own.has(rv) ? 'own' : actions[action])} ${kind}`;
}

// useWhy asks for the journeys of some keys now and then, and returns the rows as they were then, each with whyOf it. Another
// world has none at first.
function useWhy(lens, { world, rows }) {
  const [told, setTold] = useState({ rows: [] });
  const asked = useRef(-Infinity);
  useEffect(() => {
    const ask = async () => {
      asked.current = performance.now();
      const asking = rows.map(async (row) => ({ ...row, ...whyOf(await lens.journey(row.key).catch(() => []), row.n) }));
      setTold({ world, rows: await Promise.all(asking) });
    };
    const timer = setTimeout(ask, Math.max(0, asked.current + askEvery - performance.now()));
    return () => clearTimeout(timer);
  }, [world, rows.map(({ key, n }) => key + n).join()]);
  return told.world === world ? told.rows : [];
}

function Why({ reasons, wakesItself, name, words }) {
  return html`<br /><span class="does" data-test="why-reconciled">${words.because} ${reasons.map(([reason, n]) => `${reason.split('+').map((one) => words.reason(...one.split(' '))).join(' + ')} ×${n}`).join(', ')}</span>
    ${wakesItself && html`<p class="bad" role="status" data-test="wakes-itself">${words.wakesItself(name)}</p>`}`;
}

export function Look({ view, words, choose, lens }) {
  const waiting = behind(view);
  const slow = useSlowly(view, () => slowest(view.events));
  const busiest = useWhy(lens, useSlowly(view, () => ({ world: view.world, rows: reconciles(view.events) })));
  return html`<section class="look" aria-labelledby="look-title" data-test="look"><h2 id="look-title">${words.look}</h2>
    ${view.can !== null && html`<p class="does" data-test="cannot">${words.cannot}</p>`}
    <h3>${words.behind}</h3>
    ${waiting.length === 0 && html`<p class="good" data-test="behind-none">${words.behindNone}</p>`}
    <ul class="rows" data-test="behind">${waiting.map(({ name, n }) => html`<li key=${name}>${name} <b>${words.number(n)}</b></li>`)}</ul>
    <h3>${words.slowHandlers}</h3>
    <ol class="rows" data-test="slow-handlers">${slow.map(({ name, most: longest, mean, n, since }) => html`<li key=${name} data-name=${name}>${name} ${words.took(longest / 1000, mean / 1000, n)}${since !== undefined
      && html` <span class="bad">${words.inACall((view.us - since) / 1e6)}</span>`}</li>`)}</ol>
    <h3>${words.busiest}</h3>
    <ol class="rows" data-test="busiest">${busiest.map(({ key, n, failed, ...why }) => html`<li key=${key}>
      <${Key} name=${key} view=${view} choose=${choose} /> ×${n}${failed > 0 && html` <span class="bad">${words.ofThemFailed(failed)}</span>`}
      <${Why} ...${why} name=${key} words=${words} /></li>`)}</ol>
    <h3>${words.lookAtYours}</h3>
    ${commands.map(([name, command]) => html`<p key=${name}>${words.looks[name]}<br /><code>${command}</code>
      ${' '}<${CopyButton} text=${command} words=${words} /></p>`)}
  </section>`;
}
