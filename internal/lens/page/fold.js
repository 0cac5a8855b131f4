// The page's state is one object, the view. fold takes a view and a message, and returns the next view. It changes
// neither of them, and reads no clock and no document: the same messages always give the same view. The golden files in
// ../testdata/fold show it.

const keepEvents = 4000; // of all keys
const keepJourney = 1000; // of the chosen key
export const keepObjects = 500; // of a store

// The view before the first message.
export const start = () => ({
  connected: false,
  broken: false, // the connection; before the first one it is neither
  refused: 0, // the status of the server's answer, if it answers and refuses
  world: 0, // counts resets
  options: {}, // of the world
  can: null, // the names of the acts that this world allows; null is all
  isOthers: false, // another page began this world
  acted: null, // {kind, key}: what the person changed or let go last; what was let go has {at, seq} as well
  note: '', // what is to be known before one steps: lease, or nothing
  seq: 0, // of the newest event
  before: 0, // the same before the newest message that brought events
  us: 0, // microseconds since the world began, at the newest message
  at: 0, // milliseconds of the page's clock, at the newest message
  counts: {}, // counts[boundary][kind], since the world began
  moved: {}, // moved[boundary]: how many events the newest message brought, left out or not
  pulse: {}, // pulse[boundary]: view.seq when it last moved
  leftOut: 0, // events that the stream did not bring
  sampled: false, // the newest message left some out
  events: [], // the newest, oldest first
  latest: {}, // latest[boundary][kind]: the newest event, of the boundaries that a box tells of
  gate: { mode: 'run', parked: [], breakpoints: [], hit: null, muted: false },
  faults: {},
  state: null, // what the layers say of themselves; null before the first message
  beside: null, // the counts of the comparison with client-go; null while its informers do not run
  stores: {}, // stores[informer]: {objects: {key: resourceVersion}, indices: {name: {value: how many}}}
  chosen: '', // the key that the person looks at
  journey: [], // its events, oldest first
  dots: { tokens: [], step: null, waiting: 0, streams: false }, // what is replayed slowly; see replay.js
  axis: 'order', // of the lanes: order or time
  lang: 'en',
  isTold: false, // the story is told
  path: '', // what follows # in the address, up to a ?
  moment: null, // {world, seq}: the event after which the page is shown; null is now
  decisive: null, // {world, seq}: the event that decides the lesson that has run
  linked: '', // the session that the address brings, packed; see share.js
});

const changes = {
  snapshot,
  tick,
  // What was stored since the answer was given is stored after it.
  contents: (view, { data }) => ({ ...view, stores: stored(stores(data.contents), { events: view.events.filter((e) => e.seq > data.seq), state: view.state }) }),
  connection: (view, { up, refused = view.refused }) => ({ ...view, connected: up, broken: !up, refused }),
  choose: (view, { key }) => ({ ...view, chosen: key, journey: key ? ofKey(view.events, key) : [] }),
  journey: (view, { key, events }) => (key === view.chosen ? { ...view, journey: joined(events, view.journey) } : view),
  dots: (view, { dots }) => ({ ...view, dots }),
  axis: (view, { axis }) => ({ ...view, axis }),
  acted: (view, { of }) => ({ ...view, acted: of }),
  told: (view, { is }) => ({ ...view, isTold: is }),
  others: (view, { is }) => ({ ...view, isOthers: is }),
  language: (view, { lang }) => ({ ...view, lang }),
  path: (view, { path, moment = null, linked = '' }) => ({ ...view, path, moment, linked }),
  decisive: (view, { seq }) => ({ ...view, decisive: { world: view.world, seq } }),
};

// fold returns the view after a message. A message of an unknown type changes nothing.
export function fold(view, message) {
  const change = changes[message.type];
  return change ? change(view, message) : view;
}

// snapshot begins anew. Only if it is of the same world, after a break of the connection, are events kept that are older.
// Those between the two are left out.
function snapshot(view, { data, at }) {
  const same = data.world === view.world && data.seq >= view.seq; // a program that was started again counts from the beginning
  const first = data.events.length ? data.events[0].seq : data.seq + 1;
  const older = same ? view.events.filter((e) => e.seq < first) : [];
  const next = {
    ...view,
    ...whole(view, data, at),
    connected: true,
    broken: false,
    refused: 0,
    world: data.world,
    options: data.options ?? {},
    can: data.can ?? null,
    note: data.note ?? '',
    before: data.seq,
    moved: {},
    pulse: same ? view.pulse : {},
    leftOut: same ? view.leftOut + Math.max(0, first - 1 - view.seq) : 0,
    sampled: false,
    events: [...older, ...data.events].slice(-keepEvents),
    latest: same ? latest(view.latest, data.events.filter((e) => e.seq > view.seq)) : latest({}, data.events),
    stores: stores(data.contents),
    acted: same ? view.acted : null,
  };
  const journey = same ? view.journey : [];
  next.journey = view.chosen ? joined(journey, ofKey(next.events, view.chosen)) : [];
  return next;
}

function tick(view, { data, at }) {
  const next = { ...view, ...whole(view, data, at), ...movement(view, data) };
  next.leftOut += data.left_out ?? 0;
  next.sampled = data.left_out > 0;
  if (data.events.length > 0) {
    next.events = [...view.events, ...data.events].slice(-keepEvents);
    next.latest = latest(view.latest, data.events);
    next.stores = stored(view.stores, data);
    const mine = ofKey(data.events, view.chosen);
    if (view.chosen && mine.length > 0) {
      next.journey = [...view.journey, ...mine].slice(-keepJourney);
    }
  }
  return next;
}

// whole are the parts that each message of the stream has in full. What did not change stays the same object: components
// that show nothing else are then not rendered again.
const whole = (view, data, at) => ({
  seq: data.seq, us: data.us, at, counts: data.counts, state: data.state,
  gate: kept(view.gate, data.gate), faults: kept(view.faults, data.faults ?? {}),
  beside: kept(view.beside, data.beside ?? null),
});

const kept = (before, after) => (JSON.stringify(before) === JSON.stringify(after) ? before : after);

// movement compares the counts with those before. They count what was left out, too.
function movement(view, data) {
  const moved = {};
  let pulse = view.pulse;
  for (const boundary of Object.keys(data.counts)) {
    const n = total(data.counts[boundary]) - total(view.counts[boundary]);
    if (n > 0) {
      moved[boundary] = n;
      pulse = { ...pulse, [boundary]: data.seq };
    }
  }
  // A message that brings no event, such as one about the gate, leaves what moved last.
  return Object.keys(moved).length > 0 ? { moved, pulse, before: view.seq } : {};
}

// latest is computed for each message of a storm: what is the same is not copied.
export function latest(before, events) {
  const newest = { request: {}, reconciled: {}, written: {} };
  for (const e of events) {
    if (e.at in newest) {
      newest[e.at][e.kind ?? ''] = e;
    }
  }
  const changed = Object.entries(newest).filter(([, kinds]) => Object.keys(kinds).length > 0);
  const after = changed.map(([at, kinds]) => [at, { ...before[at], ...kinds }]);
  const panic = events.filter(({ at }) => at === 'returned').reduce(panics, before.panic);
  const list = events.reduce(lists, before.list);
  return { ...before, ...Object.fromEntries(after), ...(panic && { panic }), ...(list && { list }) };
}

// lists has the newest list of each kind: n objects, and missing of those that the store had. The in-order queue pops a
// list whole, and what is stored next are its objects, and the removals of what it lacks. The per-key queue pops a tombstone
// for each of these. The numbers are those of whole batches, of which the stream may have left events out.
function lists(before, e) {
  const list = before?.[e.kind];
  const put = (more) => ({ ...before, [e.kind]: { ...list, ...more } });
  if (e.at === 'handed' && e.action === 'Replace' && !e.key) {
    return put({ n: (e.n ?? 1) - 1, missing: 0 }); // a list begins with an event without a key
  }
  if (list && e.at === 'popped' && e.action === 'ReplacedAll') {
    return put({ whole: e.key ? e.n ?? 1 : 0 }); // what is stored next is this list
  }
  if (list && e.at === 'popped' && list.whole >= 0) {
    return put({ whole: -1 });
  }
  if (list && e.at === 'popped' && e.tombstone && list.whole === undefined) {
    return put({ missing: list.missing + 1 });
  }
  return list && e.at === 'stored' && list.whole >= 0 ? put({ missing: Math.max(0, (e.n ?? 1) - list.whole) }) : before;
}

// panics has the newest panic of each handler, until the handler returns from a call.
function panics(before, e) {
  const name = `${e.kind} ${e.handler}`;
  if (e.action !== 'panic' && !(before && name in before)) {
    return before;
  }
  const { [name]: over, ...others } = before ?? {};
  return e.action === 'panic' ? { ...others, [name]: e } : others;
}

// allows reports whether an act can be done in the view's world.
export const allows = ({ can }, act) => can === null || can.includes(act);

// kinds are those of the informers, in an order that stays.
export const kinds = ({ state }) => Object.entries(state?.informers ?? {}).sort().reverse().map(([, { kind }]) => kind);

// total adds up the counts of all kinds.
export function total(kinds) {
  return Object.values(kinds ?? {}).reduce((sum, n) => sum + n, 0);
}

const ofKey = (events, key) => events.filter((e) => e.key === key);

// joined puts two runs of events together. Where both have an event, it is taken from the first, which may know causes.
function joined(first, second) {
  const seen = new Set(first.map((e) => e.seq));
  const all = [...first, ...second.filter((e) => !seen.has(e.seq))];
  return all.sort((a, b) => a.seq - b.seq).slice(-keepJourney);
}

// stores reads the contents of all stores.
function stores(contents) {
  const result = {};
  for (const [name, store] of Object.entries(contents ?? {})) {
    const objects = Object.fromEntries((store.store ?? []).map(({ key, rv }) => [key, rv]));
    result[name] = { objects, indices: store.indices ?? {} };
  }
  return result;
}

// stored applies what the stores were observed to do. Past keepObjects, new keys are not listed. Indices stay as they
// were: the next contents bring them.
export function stored(before, data) {
  const changed = data.events.filter((e) => e.at === 'stored' && e.key);
  if (changed.length === 0) {
    return before;
  }
  const after = { ...before };
  for (const [name, informer] of Object.entries(data.state.informers)) {
    const mine = changed.filter((e) => e.kind === informer.kind);
    if (mine.length === 0) {
      continue;
    }
    const objects = { ...before[name]?.objects };
    let n = Object.keys(objects).length;
    for (const e of mine) {
      const isThere = e.key in objects;
      if (e.action === 'removed' || e.action === 'was not there') {
        delete objects[e.key];
        n -= isThere ? 1 : 0;
      } else if (isThere || n < keepObjects) {
        objects[e.key] = e.rv;
        n += isThere ? 0 : 1;
      }
    }
    after[name] = { indices: {}, ...before[name], objects };
  }
  return after;
}
