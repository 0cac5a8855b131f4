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

// viewAt returns the view after the event seq. What the layers held before the first view that is kept is not known.
export function viewAt(history, view, seq) {
  const upTo = (events) => events.filter((e) => e.seq <= seq);
  const events = upTo(view.events);
  const now = { seq, us: events.at(-1)?.us ?? 0, events, journey: upTo(view.journey), held: null, past: true };
  now.moved = moved(events.filter((e) => e.seq === seq));
  const kept = history.findLast((h) => h.seq <= seq);
  if (!kept) {
    return { ...view, ...now, counts: {}, faults: {}, state: null, stores: {}, latest: {} };
  }
  const since = events.filter((e) => e.seq > kept.seq);
  const stores = stored(kept.stores, { events: since, state: kept.state });
  return { ...view, ...kept, ...now, counts: counted(kept.counts, since), latest: latest(kept.latest, since), stores, state: sized(kept, stores, since) };
}

// sized is the kept state, with as many objects as the stores have that changed since, and the newest versions that came.
function sized({ state, stores: before }, stores, since) {
  const entries = Object.entries(state.informers).map(([name, informer]) => {
    const size = (of) => Object.keys(of[name]?.objects ?? {}).length;
    const newest = (rv, at) => newer(rv, since.filter((e) => e.at === at && e.kind === informer.kind));
    return [name, { ...informer, objects: informer.objects + size(stores) - size(before), rv: newest(informer.rv, 'stored'),
      last_sync_rv: newest(informer.last_sync_rv, 'handed') }];
  });
  const server = state.server && { ...state.server, revision: newer(state.server.revision, since.filter(({ at }) => at === 'sent')) };
  return { ...state, informers: Object.fromEntries(entries), ...(server && { server }) };
}

const newer = (rv, events) => events.reduce((most, e) => (Number(e.rv ?? 0) > Number(most ?? 0) ? e.rv : most), rv);

const moved = (events) => Object.fromEntries(events.map(({ at }) => [at, 1]));

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
