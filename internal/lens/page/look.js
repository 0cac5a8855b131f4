// Look: how to see one's own cluster or program here, and what is behind in the one that is seen.
import { html } from './ui.js';
import { CopyButton, Key, useSlowly } from './parts.js';

const most = 5; // rows of a table

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

export function Look({ view, words, choose }) {
  const waiting = behind(view);
  const busiest = useSlowly(view, () => reconciles(view.events));
  return html`<section class="look" aria-labelledby="look-title" data-test="look"><h2 id="look-title">${words.look}</h2>
    ${view.can !== null && html`<p class="does" data-test="cannot">${words.cannot}</p>`}
    <h3>${words.behind}</h3>
    ${waiting.length === 0 && html`<p class="good" data-test="behind-none">${words.behindNone}</p>`}
    <ul class="rows" data-test="behind">${waiting.map(({ name, n }) => html`<li key=${name}>${name} <b>${words.number(n)}</b></li>`)}</ul>
    <h3>${words.busiest}</h3>
    <ol class="rows" data-test="busiest">${busiest.map(({ key, n, failed }) => html`<li key=${key}>
      <${Key} name=${key} view=${view} choose=${choose} /> ×${n}${failed > 0 && html` <span class="bad">${words.ofThemFailed(failed)}</span>`}</li>`)}</ol>
    <h3>${words.lookAtYours}</h3>
    ${commands.map(([name, command]) => html`<p key=${name}>${words.looks[name]}<br /><code>${command}</code>
      ${' '}<${CopyButton} text=${command} words=${words} /></p>`)}
  </section>`;
}
