// Time travel: the view as it was. The page keeps the views that its messages made. A moment between two of them is the
// earlier one, with what its events changed since. It changes nothing, and reads no clock and no document, as fold.js.
import { latest, stored } from './fold.js';

const mostKept = 600; // views

// keep returns the history with a view. Another world has another history, as has a program that was started again.
export function keep(history, view) {
  const { world, seq, us, counts, gate, faults, state, stores, latest } = view;
  const kept = { world, seq, us, counts, gate, faults, state, stores, latest };
  const last = history.at(-1);
  const older = last?.world === world && last.seq <= seq ? history.filter((h) => h.seq < seq) : [];
  return [...older, kept].slice(-mostKept);
}

// momentIn returns the seq of the moment that is looked back at, or null for now.
export const momentIn = ({ moment, world, seq }) => (moment?.world === world && moment.seq < seq ? moment.seq : null);

// toldIn returns the seq of the moment that the dots show in the story and in a lesson, or null for now. All else shows it too.
export function toldIn({ isTold, path, dots: { step, waiting } }) {
  return (isTold || path.startsWith('/lesson/')) && step && waiting > 0 ? step.at(-1).seq : null;
}

// shownIn returns the seq of the newest event that the page shows.
export const shownIn = (view) => momentIn(view) ?? toldIn(view) ?? view.seq;

// viewAt returns the view after the event seq. What the layers held before the first view that is kept is not known.
export function viewAt(history, view, seq) {
  const upTo = (events) => events.filter((e) => e.seq <= seq);
  const events = upTo(view.events);
  const now = { seq, us: events.at(-1)?.us ?? 0, events, journey: upTo(view.journey), past: true };
  now.moved = Object.fromEntries(events.filter((e) => e.seq === seq).map(({ at }) => [at, 1]));
  const kept = history.findLast((h) => h.seq <= seq);
  if (!kept) {
    return { ...view, ...now, counts: {}, faults: {}, state: null, stores: {}, latest: {} };
  }
  const since = events.filter((e) => e.seq > kept.seq);
  const gate = since.length > 0 ? stillHeld(kept.gate, history.find((h) => h.seq > seq) ?? view) : kept.gate;
  const stores = stored(kept.stores, { events: since, state: kept.state });
  return { ...view, ...kept, ...now, gate, counts: counted(kept.counts, since), latest: latest(kept.latest, since), stores, state: sized(kept, stores, since) };
}

// stillHeld is a gate with what it holds in a later view, too.
export const stillHeld = (gate, later) => ({ ...gate, parked: gate.parked.filter((p) => later.gate.parked.some(({ seq }) => seq === p.seq)) });

// sized is the kept state, with what has changed since: how many objects the stores have, the newest versions and states, and the keys in the workqueue.
function sized({ state, stores: before }, stores, since) {
  const entries = Object.entries(state.informers).map(([name, informer]) => {
    const size = (of) => Object.keys(of[name]?.objects ?? {}).length;
    const newest = (rv, at) => newer(rv, since.filter((e) => e.at === at && e.kind === informer.kind));
    const { action } = since.findLast((e) => e.at === 'state' && e.kind === informer.kind) ?? { action: informer.state };
    return [name, { ...informer, state: action, objects: informer.objects + size(stores) - size(before), rv: newest(informer.rv, 'stored'),
      last_sync_rv: newest(informer.last_sync_rv, 'handed') }];
  });
  const server = state.server && { ...state.server, revision: newer(state.server.revision, since.filter(({ at }) => at === 'sent')) };
  const workqueue = state.workqueue && since.filter(({ key }) => key).reduce(worked, state.workqueue);
  return { ...state, informers: Object.fromEntries(entries), workqueue, ...(server && { server }) };
}

// worked is the workqueue after an event. What leaves no event, such as that a delayed key is due, is not known.
function worked(queue, { at, key, action, us, delay_us: delay = 0 }) {
  const { ready = [], processing = [], dirty = [], delayed = [] } = queue;
  const without = (keys) => keys.filter((other) => other !== key);
  const isTaken = processing.includes(key);
  const changed = {
    queued: action === 'Add' && (isTaken ? { dirty: [...without(dirty), key] } : !ready.includes(key) && { ready: [...ready, key] }),
    taken: { ready: without(ready), processing: [...without(processing), key], delayed: delayed.filter((d) => d.key !== key) },
    forgotten: isTaken && { processing: without(processing), dirty: without(dirty), ready: dirty.includes(key) ? [...ready, key] : ready },
    putoff: { processing: without(processing), delayed: [...delayed.filter((d) => d.key !== key), { key, due_us: us + delay }] },
  }[at] || {};
  const grown = (name, before) => (changed[name] ?? before).length - before.length;
  return { ...queue, ...changed, len: queue.len + grown('ready', ready), delayed_n: queue.delayed_n + grown('delayed', delayed) };
}

const newer = (rv, events) => events.reduce((most, e) => (Number(e.rv ?? 0) > Number(most ?? 0) ? e.rv : most), rv);

function counted(before, events) {
  const after = { ...before };
  for (const { at, kind = '' } of events) {
    after[at] = { ...after[at], [kind]: (after[at]?.[kind] ?? 0) + 1 };
  }
  return after;
}

// marksOf lists what stands out: {seq, what, e}, what being fault, relist, tombstone, conflict, panic or failed.
export function marksOf(history, events) {
  const faults = history.flatMap(({ seq, faults: on }, i) => {
    const before = history[i - 1]?.faults ?? on;
    return on === before ? [] : Object.keys(on).filter((name) => !(name in before)).map((name) => ({ seq, what: 'fault', name }));
  });
  const others = events.filter(standsOut).map((e) => ({ seq: e.seq, what: standsOut(e), name: e.key ?? e.kind }));
  const firsts = others.filter((mark, i) => mark.what !== 'relist' || others[i - 1]?.what !== 'relist' || others[i - 1].seq !== mark.seq - 1);
  return [...faults, ...firsts].sort((a, b) => a.seq - b.seq);
}

function standsOut(e) {
  if (e.action === 'panic') {
    return 'panic';
  }
  if (e.tombstone) {
    return e.at === 'called' ? 'tombstone' : '';
  }
  if (e.code === 409) {
    return 'conflict';
  }
  if (e.at === 'reconciled' && e.error) {
    return 'failed';
  }
  return e.at === 'handed' && e.action === 'Replace' ? 'relist' : '';
}
