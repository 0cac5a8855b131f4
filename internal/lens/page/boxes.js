// What is inside each box of the house: what the layers say of this moment.
import { html, useMemo } from './ui.js';
import { StateMachine } from './machine.js';
import { Countdown, Key, Keys } from './parts.js';

const mostRows = 6; // of a list in a box

const informers = (view) => Object.entries(view.state.informers).sort().reverse(); // as kinds: Services before what is made of them

function ApiServer({ view, words }) {
  const { server } = view.state;
  if (!server) {
    return html`<p data-test="server-elsewhere">${words.elsewhere}</p>`;
  }
  return html`<p class=${server.up ? 'good' : 'bad'} data-test="server-up">${server.up ? words.up : words.down}</p>
    <p>${words.revision} <b>${server.revision}</b> · ${words.watches} <b>${server.watches}</b></p>`;
}

function ListWatch({ view, words }) {
  return informers(view).map(([name, { kind, state, error }]) => html`
    <p key=${name}>${kind}: <${Request} request=${view.latest.request?.[kind]} isOpen=${state === 'Watching'} words=${words} /></p>
    ${error && html`<p class="bad error" title=${error}>${error}</p>`}`);
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

// Listed tells of the newest list: in this layer what it lacks is found, and becomes a tombstone.
function Listed({ kind, words, view }) {
  const list = view.latest.list?.[kind];
  return list && html`<p class=${list.missing > 0 ? 'bad' : 'none'} data-test=${'listed-' + kind}>${words.listed(list.n, list.missing)}</p>`;
}

function DeltaFifo({ words, view, choose }) {
  return informers(view).map(([name, { kind, queued, pending }]) => html`<p key=${name}>${kind}: <b
    data-test=${'queued-' + name}>${words.number(queued)}</b> ${words.inQueue}</p>
    <${Listed} kind=${kind} words=${words} view=${view} />
    <ul class="rows">${byKey(pending ?? []).slice(0, mostRows).map(([key, deltas]) => html`<li key=${key}>
      ${key && html`<${Key} name=${key} view=${view} choose=${choose} />`}
      <span class="deltas">${deltas.map((d) => (d.rv ? d.type + ' @' + d.rv : d.type)).join(', ')}</span></li>`)}</ul>`);
}

function Store({ name, informer, store, words, view, choose }) {
  const keys = useMemo(() => Object.keys(store?.objects ?? {}).sort(), [store?.objects]);
  const first = keys.includes(view.chosen) ? [view.chosen, ...keys.filter((key) => key !== view.chosen)] : keys;
  const shown = first.slice(0, mostRows);
  return html`
    <p>${informer.kind}: <b data-test=${'objects-' + name}>${words.number(informer.objects)}</b> ${words.objects},
      ${' '}rv <b>${informer.rv || '–'}</b>${!informer.synced && html`, <span class="bad">${words.notSynced}</span>`}</p>
    <ul class="rows">
      ${shown.map((key) => html`<li key=${key}>
        <${Key} name=${key} view=${view} choose=${choose} /> @${store.objects[key]}</li>`)}
    </ul>
    ${informer.objects > shown.length && html`<p class="more">${words.more(informer.objects - shown.length)}</p>`}
    ${Object.entries(store?.indices ?? {}).map(([index, values]) => html`
      <p key=${index} data-test=${`index-${name}-${index}`}>${words.index} <code>${index}</code>: ${postings(values) || words.none}</p>`)}`;
}

const postings = (values) => Object.entries(values).slice(0, mostRows).map(([value, n]) => `${value} → ${n}`).join(', ');

function Indexer(props) {
  return informers(props.view).map(([name, informer]) => html`
    <${Store} key=${name} name=${name} informer=${informer} store=${props.view.stores[name]} ...${props} />`);
}

function Handlers({ view, words }) {
  const rows = informers(view).flatMap(([name, { kind, handlers }]) => (handlers ?? []).map((h) => ({ name, kind, ...h })));
  const slowest = rows.reduce((most, h) => (h.Depth > (most?.Depth ?? 0) ? h : most), null);
  const sorted = slowest ? [slowest, ...rows.filter((h) => h !== slowest)] : rows; // the box may have no room for the last
  const panics = Object.values(view.latest.panic ?? {});
  return html`${panics.map((e) => html`<p key=${e.handler + e.kind} class="bad" data-test="panicked">${words.panicked(e.handler, e.key)}</p>`)}
  <table>
    <thead><tr>
      <th scope="col">${words.handler}</th><th scope="col">${words.backlog}</th><th scope="col">${words.delivered}</th>
    </tr></thead>
    <tbody>${sorted.map((h) => html`<tr key=${h.name + h.Name} class=${h === slowest ? 'slowest' : ''}>
      <th scope="row" title=${h.kind + ' ' + h.Name}>${h.Name} ${h.kind}${h === slowest && ' · ' + words.slowest}</th>
      <td data-test=${`backlog-${h.name}-${h.Name}`}>${words.number(h.Depth)}</td>
      <td data-test=${`delivered-${h.name}-${h.Name}`}>${words.number(h.Delivered)}</td>
    </tr>`)}</tbody></table>`;
}

function WorkQueue({ view, words, choose }) {
  const queue = view.state.workqueue;
  if (!queue) {
    return html`<p class="none" data-test="no-queue">${words.noQueue}</p>`;
  }
  const rest = { view, choose, words };
  const retries = Object.entries(queue.retries ?? {});
  const delayed = (queue.delayed ?? []).slice(0, mostRows);
  return html`<dl class="queue">
    <dt>${words.ready} <b data-test="queue-ready">${words.number(queue.len)}</b></dt>
    <dd><${Keys} keys=${queue.ready ?? []} n=${queue.len} ...${rest} /></dd>
    <dt>${words.processing}</dt>
    <dd data-test="queue-processing"><${Keys} keys=${queue.processing ?? []} ...${rest} /></dd>
    <dt>${words.dirty}</dt>
    <dd data-test="queue-dirty"><${Keys} keys=${queue.dirty ?? []} ...${rest} /></dd>
    <dt>${words.delayed} <b data-test="queue-delayed">${words.number(queue.delayed_n)}</b></dt>
    <dd>${delayed.map((d) => html`<${Delayed} key=${d.key} name=${d.key} due=${d.due_us} ...${rest} />`)}
      ${delayed.length === 0 && words.none}</dd>
    <dt>${words.retries}</dt>
    <dd data-test="queue-retries">${retries.slice(0, mostRows).map(([key, n]) => html`<span key=${key} class="pair">
      <${Key} name=${key} ...${rest} /> ×${n}</span>`)}
      ${retries.length === 0 && words.none}</dd>
  </dl>`;
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
    <p>${words.workers} <b>${workers}</b>, ${words.busy} <b>${(processing ?? []).length}</b></p>
    <p>${words.lastReconcile}: ${!reconciled && words.notSeen}${reconciled && html`
      <${Key} name=${reconciled.key} view=${view} choose=${choose} />
      ${' '}<b class=${reconciled.error ? 'bad' : 'good'}>${reconciled.action}</b>`}</p>
    ${reconciled?.error && html`<p class="bad error" title=${reconciled.error}>${reconciled.error}</p>`}
    <p>${words.lastWrite}: ${!written && words.notSeen}${written && html`
      <${Key} name=${written.key} view=${view} choose=${choose} />
      ${' '}${written.action} <${Result} event=${written} words=${words} />`}</p>`;
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
