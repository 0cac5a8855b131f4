// Says where a moment that is looked back at is not what it was: node check.mjs FOLD PAST GOLDEN…
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [fold, past, ...files] = process.argv.slice(2);
const { fold: next, latest, start } = await import(pathToFileURL(resolve(fold)));
const { keep, marksOf, viewAt } = await import(pathToFileURL(resolve(past)));
const fields = ['seq', 'counts', 'faults', 'gate', 'state', 'stores'];
const sorted = (value) => JSON.stringify(value, (_, v) =>
  (v !== null && typeof v === 'object' && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort()) : v));

let looked = 0;
for (const file of files) {
  const { messages } = JSON.parse(readFileSync(file, 'utf8'));
  const was = new Map(); // by seq; of the newest world
  let view = start();
  let history = [];
  for (const message of messages) {
    const { world } = view;
    view = next(view, message);
    if (message.data && view.state) {
      history = keep(history, view);
      if (view.world !== world) was.clear();
      was.set(view.seq, view);
    }
  }
  for (const [seq, then] of was) {
    looked++;
    const got = viewAt(history, view, seq);
    fields.filter((field) => sorted(got[field]) !== sorted(then[field])).forEach((field) =>
      console.log(`${file}: at ${seq} ${field} was ${sorted(then[field])}, got ${sorted(got[field])}`));
    if (got.events.some((e) => e.seq > seq) || !got.past) console.log(`${file}: at ${seq} there are later events`);
  }
}
if (looked < 10) console.log(`only ${looked} moments were looked at`);

// Between two messages: the earlier view, and what its events changed since.
const seen = (seq, at, more) => ({ seq, us: seq, at, kind: 'Service', key: 'default/web', rv: '8', ...more });
const state = { informers: { services: { kind: 'Service', objects: 1 } } };
const first = { ...start(), world: 1, seq: 1, state, stores: { services: { objects: { 'default/a': '5' }, indices: {} } }, faults: {}, events: [] };
const events = [seen(2, 'popped'), seen(3, 'stored', { action: 'stored' }), seen(4, 'called', { tombstone: true }), seen(5, 'written', { code: 409 })];
const last = { ...first, seq: 5, events, faults: { cut: {} } };
const history = keep(keep([], first), last);
const between = (seq) => viewAt(history, last, seq);
const want = (what, is, should) => sorted(is) === sorted(should) || console.log(`want ${what}: ${sorted(should)}, got ${sorted(is)}`);
want('the store before', between(2).stores.services.objects, { 'default/a': '5' });
want('the store after', [between(3).stores.services.objects, between(3).state.informers.services.objects],
  [{ 'default/a': '5', 'default/web': '8' }, 2]);
const versions = ({ state: { server, informers: { services } } }) => [server.revision, services.last_sync_rv, services.rv];
const older = { ...first, state: { workqueue: { len: 0, delayed_n: 0, ready: [], processing: [], dirty: [], delayed: [] }, server: { revision: 7 }, informers: { services: { kind: 'Service', rv: '7', last_sync_rv: '7' } } } };
const come = [seen(2, 'sent'), seen(3, 'handed'), seen(4, 'stored', { action: 'stored' }), seen(5, 'stored', { kind: 'Ingress', rv: '9' })];
want('the newest versions', [1, 2, 3, 4, 5].map((seq) => versions(viewAt([older], { ...older, seq: 5, events: come }, seq))),
  [[7, '7', '7'], ['8', '7', '7'], ['8', '8', '7'], ['8', '8', '8'], ['8', '8', '8']]);
const states = [seen(2, 'state', { action: 'Connecting' }), seen(3, 'state', { action: 'Watching' }), seen(4, 'state', { action: 'Idle', kind: 'Ingress' })];
want('the newest states', [1, 2, 4].map((seq) => viewAt([older], { ...older, seq: 5, events: states }, seq).state.informers.services.state),
  [undefined, 'Connecting', 'Watching']);
const bare = (seq, at, more) => seen(seq, at, { kind: undefined, rv: undefined, action: 'Add', ...more });
const works = [bare(2, 'queued'), bare(3, 'taken'), bare(4, 'queued'), bare(5, 'forgotten'), bare(6, 'taken'), bare(7, 'putoff', { delay_us: 10 }), bare(8, 'taken')];
want('the keys in the workqueue', [1, 2, 3, 4, 5, 6, 7, 8].map((seq) => {
  const { len, ready, processing, dirty, delayed, delayed_n } = viewAt([older], { ...older, seq: 9, events: works, state: null }, seq).state.workqueue;
  return [len, ready.length, processing.length, dirty.length, delayed.map(({ due_us }) => due_us).join(), delayed_n].join(' ');
}), ['0 0 0 0  0', '1 1 0 0  0', '0 0 1 0  0', '0 0 1 1  0', '1 1 0 0  0', '0 0 1 0  0', '0 0 0 0 17 1', '0 0 1 0  0']);
const holding = (seq, ...seqs) => ({ ...older, seq, gate: { mode: 'step', parked: seqs.map((n) => ({ seq: n })) } });
const holds = [holding(2, 1, 2), holding(5, 2), holding(7)];
want('what is held', [2, 3, 5, 6].map((seq) => viewAt(holds, { ...holds[2], events: come }, seq).gate.parked.map((p) => p.seq)), [[1, 2], [2], [2], [2]]);
want('the counts', between(3).counts, { popped: { Service: 1 }, stored: { Service: 1 } });
want('what moved', between(3).moved, { stored: 1 });
want('nothing of what was before the page', viewAt(history.slice(1), last, 2).state, null);
want('the marks', marksOf(history, events).map(({ seq, what }) => [seq, what]), [[4, 'tombstone'], [5, 'fault'], [5, 'conflict']]);

// The newest list of a kind, with what it lacks, whichever queue it passes. A tombstone that it did not make is not counted.
const handed = (seq, n) => seen(seq, 'handed', { action: 'Replace', key: '', n });
const popped = (seq, n) => seen(seq, 'popped', { action: 'ReplacedAll', n });
const inOrder = [handed(1, 3), popped(2, 2), seen(4, 'stored', { action: 'removed', n: 5 }), seen(9, 'popped', { action: 'Deleted', tombstone: true }),
  seen(10, 'stored', { action: 'removed' }), seen(11, 'called', { tombstone: true })];
const perKey = [handed(1, 2), seen(3, 'popped', { action: 'Deleted', tombstone: true }), seen(4, 'stored', { action: 'removed' }), seen(5, 'called', { tombstone: true })];
const empty = [handed(1), seen(2, 'popped', { action: 'ReplacedAll', key: '' }), seen(3, 'stored', { action: 'removed' })];
const newest = (events) => Object.values(latest({}, events).list).map(({ n, missing }) => [n, missing]);
want('the newest list', [inOrder, perKey, empty, [...perKey, handed(6, 4)], [...perKey, { ...handed(6, 2), kind: 'Ingress' }]].map(newest),
  [[[2, 3]], [[1, 1]], [[0, 1]], [[3, 0]], [[1, 1], [1, 0]]]);
