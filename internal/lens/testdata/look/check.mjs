// Says where Look tells something wrong: node check.mjs LOOK.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const { slowest, whyOf } = await import(pathToFileURL(resolve(process.argv[2])));
const want = (what, is, should) => JSON.stringify(is) === JSON.stringify(should)
  || console.log(`want ${what}: ${JSON.stringify(should)}, got ${JSON.stringify(is)}`);

const call = (at, handler, key, us) => ({ at, kind: 'Service', handler, key, us });
want('the handlers, the one in a call first', slowest([
  call('called', 'audit', 'a', 0), call('called', 'enqueue', 'a', 0), call('returned', 'enqueue', 'a', 10),
  call('called', 'enqueue', 'b', 20), call('returned', 'enqueue', 'b', 50), { at: 'stored', us: 60 },
]), [{ name: 'Service audit', most: 0, mean: 0, n: 0, since: 0 }, { name: 'Service enqueue', most: 30, mean: 20, n: 2 }]);
want('a call that panicked to be no long one', slowest([
  call('called', 'audit', 'a', 0), call('called', 'audit', 'b', 1000), call('returned', 'audit', 'b', 1001)]),
[{ name: 'Service audit', most: 1, mean: 1, n: 1 }]);
want('an answer to another call to be none', slowest([call('called', 'audit', 'a', 0), call('returned', 'audit', 'b', 10)])[0].n, 0);

// run is a reconcile because of an event of an object, that writes a version.
let seq = 0;
const run = (cause, writes) => {
  const [called, queued, taken, decided] = [++seq, ++seq, ++seq, ++seq];
  return [{ seq: called, at: 'called', kind: 'Ingress', action: 'OnUpdate', old: '1', ...cause }, { seq: queued, at: 'queued', because: [called] },
    { seq: taken, at: 'taken', because: [queued] }, { seq: decided, at: 'decided', rv: writes }];
};
const others = run({ rv: '10', kind: 'Service' }, '11');
const mine = [run({ rv: '11' }, '12'), run({ rv: '12' }, '13'), run({ rv: '13' }, '14')];
want('the reasons, the most frequent first', whyOf([...others, ...mine.flat()], 4).reasons, [['own Ingress', 3], ['update Service', 1]]);
want('the reasons to add up', [5, 2].map((n) => whyOf([...others, ...mine.flat()], n).reasons),
  [[['own Ingress', 3], ['unknown', 1], ['update Service', 1]], [['own Ingress', 2]]]);
want('two reasons of one reconcile to be told together', whyOf([{ seq: 801, at: 'called', kind: 'Service', action: 'OnAdd' }, { seq: 802, at: 'queued', because: [801] },
  { seq: 803, at: 'called', kind: 'Service', action: 'OnUpdate', old: '1', rv: '2' }, { seq: 804, at: 'queued', because: [803] },
  { seq: 805, at: 'taken', because: [802, 804] }], 1).reasons, [['add Service+update Service', 1]]);
want('a controller that wakes itself to be told of', [whyOf([...others, ...mine.flat()]), whyOf([...mine.flat(), ...others])].map((w) => w.wakesItself), [true, false]);
want('two of its own writes not to be enough', whyOf([...others, ...mine.slice(0, 2).flat()]).wakesItself, false);
want('what is told again to be no news', whyOf(run({ rv: '9', old: '9' }, ''), 1).reasons, [['resync Ingress', 1]]);
want('a retry and a look again to be told apart', whyOf([
  { seq: 901, at: 'reconciled', error: 'refused' }, { seq: 902, at: 'putoff', because: [901] }, { seq: 903, at: 'taken', because: [902] },
  { seq: 904, at: 'reconciled' }, { seq: 905, at: 'putoff', because: [904] }, { seq: 906, at: 'taken', because: [905] },
  { seq: 907, at: 'queued' }, { seq: 908, at: 'taken', because: [907] }], 3).reasons, [['retry', 1], ['later', 1], ['unknown', 1]]);
