// What is inside each box of the house: what the layers say of this moment.
import { html, useMemo } from './ui.js';
import { StateMachine } from './machine.js';
import { Countdown, Key, Keys } from './parts.js';

const mostRows = 3; // of a list in a box; style.css leaves out a row that has no room
const mostPostings = 6;

const informers = (view) => Object.entries(view.state.informers).sort().reverse(); // as kinds: Services before what is made of them

function ApiServer({ view, words }) {
  const { server } = view.state;
  if (!server) {
    return html`<p data-test="server-elsewhere">${words.elsewhere}</p>`;
  }
  return html`<p><span class=${server.up ? 'good' : 'bad'} data-test="server-up">${server.up ? words.up : words.down}</span> · ${words.revision} <b>${server.revision}</b>${' '}
    · ${words.watches} <b>${server.watches}</b></p>`;
}

function ListWatch({ view, words }) {
  const all = informers(view);
  const requests = view.latest.request ?? {};
  return html`${all.map(([name, { kind, state }]) => html`
    <p key=${name}>${kind}: <${Request} request=${requests[kind]} isOpen=${state === 'Watching'} words=${words} /></p>`)}
    ${all.filter(([, { error }]) => error).map(([name, { error }]) => html`<p key=${name} class="bad error" title=${error}>${words.then(error.replace(/^.*failed to \w+: /, ''))}</p>`)}
    ${all.some(([, { kind }]) => requests[kind]?.initial) && html`<p class="none" data-test="begins-with-list">${words.beginsWithList}</p>`}`;
}

function Request({ request, isOpen, words }) {
  if (!request) {
    return isOpen ? words.watchIsOpen : words.notSeen;
  }
  return html`${request.action} ${request.rv && words.fromVersion(request.rv)} <${Result} event=${request} words=${words} />`;
}

// Result is the code of an HTTP answer.
function Result({ event, words }) {
  return html`<b class=${event.error ? 'bad' : 'good'}>${event.code || words.noAnswer}</b>`;
}

function Reflector({ view, words }) {
  const all = informers(view);
  return html`<${StateMachine} view=${view} all=${all} words=${words} />
  <p>${all.map(([name, informer]) => html`<span key=${name} title=${words.lastSync}>${informer.kind} rv <b
    data-test=${'rv-' + name}>${informer.last_sync_rv || '–'}</b> </span>`)}</p>`;
}

// byKey gathers the deltas of each key, in the order of the first.
function byKey(deltas) {
  const keys = new Map();
  for (const delta of deltas) {
    keys.set(delta.key ?? '', [...(keys.get(delta.key ?? '') ?? []), delta]);
  }
  return [...keys];
}

// Listed tells of the newest list: in this layer what it lacks is found, and becomes a tombstone. It stands out until something else leaves the queue.
function Listed({ kind, words, view }) {
  const list = view.latest.list?.[kind];
  const newest = list?.missing > 0 && view.events.findLast((e) => e.at === 'popped' && e.kind === kind && e.action !== 'Bookmark');
  return list && html`<p class=${newest && (newest.tombstone || newest.action === 'ReplacedAll') ? 'bad' : 'none'} data-test=${'listed-' + kind}>${words.listed(list.n, list.missing)}</p>`;
}

function DeltaFifo({ words, view, choose }) {
  return informers(view).map(([name, { kind, queued, pending }]) => {
    const keys = byKey(pending ?? []);
    return html`<p key=${name}>${kind}: <b data-test=${'queued-' + name}>${words.number(queued)}</b> ${words.inQueue}</p>
    <ul class="rows">${chosenFirst(keys, ([key]) => key === view.chosen).slice(0, mostRows - 1).map(([key, deltas]) => html`<li key=${key}>
      ${key && html`<${Key} name=${key} view=${view} choose=${choose} />`}
      <span class="deltas">${deltas.map((d) => (d.rv ? d.type + ' @' + d.rv : d.type)).join(', ')}</span></li>`)}</ul>
    <${More} n=${keys.length - mostRows + 1} words=${words} />
    <${Listed} kind=${kind} words=${words} view=${view} />`;
  });
}

const chosenFirst = (all, isChosen) => [...all.filter(isChosen), ...all.filter((one) => !isChosen(one))];

const More = ({ n, words }) => n > 0 && html`<p class="more">${words.more(n)}</p>`;

// Store has the first rows of an informer's objects, the chosen one before all, and says how many more there are.
function Store({ name, informer, store, rows, words, view, choose }) {
  const keys = useMemo(() => Object.keys(store?.objects ?? {}).sort(), [store?.objects]);
  const shown = chosenFirst(keys, (key) => key === view.chosen).slice(0, rows);
  const more = informer.objects - shown.length;
  return html`
    <p>${informer.kind}: <b data-test=${'objects-' + name}>${words.number(informer.objects)}</b> ${words.objects},
      ${' '}rv <b>${informer.rv || '–'}</b>${!informer.synced && html`, <span class="bad">${words.notSynced}</span>`}</p>
    <ul class="rows">${shown.map((key, i) => html`<li key=${key} class="stored">
      <${Key} name=${key} view=${view} choose=${choose} /> @${store.objects[key]} ${more > 0 && i === rows - 1 && html`<span class="more">${words.more(more)}</span>`}</li>`)}</ul>`;
}

const postings = (values) => Object.entries(values).slice(0, mostPostings).map(([value, n]) => `${value} → ${n}`).join(', ');

// Indexer has what is empty last. There is room for two rows.
function Indexer(props) {
  const { view, words } = props;
  const all = informers(view).sort(([, a], [, b]) => Number(b.objects > 0) - Number(a.objects > 0));
  const rows = all.filter(([, { objects }]) => objects > 0).length > 1 ? 1 : 2;
  return html`${all.map(([name, informer]) => html`
    <${Store} key=${name} name=${name} informer=${informer} store=${view.stores[name]} rows=${rows} ...${props} />`)}
    ${all.flatMap(([name]) => Object.entries(view.stores[name]?.indices ?? {}).map(([index, values]) => html`
      <p key=${name + index} data-test=${`index-${name}-${index}`}>${words.index} <code>${index}</code>: ${postings(values) || words.none}</p>`))}`;
}

// Handlers has a row for each name, a column for each kind. The longest backlog is first.
function Handlers({ view, words }) {
  const all = informers(view).map(([name, { kind, handlers }]) => ({ name, kind, handlers: handlers ?? [] }));
  const rows = all.flatMap(({ handlers }) => handlers);
  const slowest = rows.reduce((most, h) => (h.Depth > (most?.Depth ?? 0) ? h : most), null);
  const names = [...new Set(rows.map((h) => h.Name))];
  const sorted = chosenFirst(names, (name) => name === slowest?.Name);
  const panics = Object.values(view.latest.panic ?? {});
  return html`${panics.map((e) => html`<p key=${e.handler + e.kind} class="bad" data-test="panicked">${words.panicked(e.handler, e.key)}</p>`)}
  <table>
    <thead><tr><th>${words.backlog}</th>${all.map(({ name, kind }) => html`<th key=${name} scope="col">${kind}</th>`)}</tr></thead>
    <tbody>${sorted.slice(0, mostRows).map((handler) => html`<tr key=${handler}><th scope="row">${handler}</th>${all.map(({ name, handlers }) => {
      const h = handlers.find(({ Name }) => Name === handler);
      return html`<td key=${name} class=${h && h === slowest ? 'slowest' : ''} title=${h && h === slowest ? words.slowest : undefined}>${h && html`<span
        data-test=${`backlog-${name}-${handler}`}>${words.number(h.Depth)}</span> · <span data-test=${`delivered-${name}-${handler}`}>${words.number(h.Delivered)}</span>`}</td>`;
    })}</tr>`)}</tbody></table>
    <${More} n=${sorted.length - mostRows} words=${words} />`;
}

function WorkQueue({ view, words, choose }) {
  const queue = view.state.workqueue;
  if (!queue) {
    return html`<p class="none" data-test="no-queue">${words.noQueue}</p>`;
  }
  const rest = { view, choose, words };
  const retries = Object.entries(queue.retries ?? {});
  const delayed = queue.delayed ?? [];
  const lists = [
    ['ready', words.ready, queue.len, html`<${Keys} keys=${queue.ready ?? []} n=${queue.len} ...${rest} />`],
    ['processing', words.processing, queue.processing?.length, html`<${Keys} keys=${queue.processing ?? []} ...${rest} />`],
    ['dirty', words.dirty, queue.dirty?.length, html`<${Keys} keys=${queue.dirty ?? []} ...${rest} />`],
    ['delayed', words.delayed, queue.delayed_n, html`${delayed.slice(0, 1).map((d) => html`<${Delayed} key=${d.key} name=${d.key} due=${d.due_us} ...${rest} />`)}
      <${More} n=${queue.delayed_n - 1} words=${words} />`],
    ['retries', words.retries, retries.length, html`${retries.slice(0, 1).map(([key, n]) => html`<span key=${key} class="pair"><${Key} name=${key} ...${rest} /> ×${n}</span>`)}
      <${More} n=${retries.length - 1} words=${words} />`],
  ];
  return html`<dl class="queue">${chosenFirst(lists, ([, , n]) => n > 0).map(([name, label, n = 0, keys]) => html`<div key=${name}>
    <dt>${label} ${n > 1 && html`<b>${words.number(n)}</b>`}</dt><dd data-test=${'queue-' + name}>${n > 0 ? keys : words.none}</dd></div>`)}</dl>`;
}

// Delayed is a key that waits for its time. The event that put it off says for how long.
function Delayed({ name, due, view, ...rest }) {
  const whole = useMemo(() => view.events.findLast((e) => e.key === name && e.delay_us > 0)?.delay_us, [name, due]);
  return html`<span class="pair" data-test="delayed-key"><${Key} name=${name} view=${view} ...${rest} />
    ${' '}<${Countdown} due=${due} whole=${whole / 1e6} view=${view} ...${rest} /></span>`;
}

function Controller({ view, words, choose }) {
  if (!view.state.workqueue) {
    return html`<p class="none">${words.noQueue}</p>`;
  }
  const { workers, processing } = view.state.workqueue;
  const reconciled = view.latest.reconciled?.[''];
  const [written] = Object.values(view.latest.written ?? {}).sort((a, b) => b.seq - a.seq);
  return html`
    <p>${words.lastReconcile}: ${!reconciled && words.notSeen}${reconciled && html`
      <${Key} name=${reconciled.key} view=${view} choose=${choose} />
      ${' '}<b class=${reconciled.error ? 'bad' : 'good'}>${reconciled.action}</b>`}</p>
    ${reconciled?.error && html`<p class="bad error" title=${reconciled.error}>${reconciled.error}</p>`}
    <p>${words.lastWrite}: ${!written && words.notSeen}${written && html`${written.action} ${written.kind} <${Result} event=${written} words=${words} />
      ${written.key !== reconciled?.key && html` <${Key} name=${written.key} view=${view} choose=${choose} />`}`}</p>
    <p>${words.workers} <b>${workers}</b>, ${words.busy} <b>${(processing ?? []).length}</b></p>`;
}

// inside[box] is the component that shows the inside of a box.
export const inside = {
  apiserver: ApiServer,
  listwatch: ListWatch,
  reflector: Reflector,
  deltafifo: DeltaFifo,
  indexer: Indexer,
  handlers: Handlers,
  workqueue: WorkQueue,
  controller: Controller,
};
