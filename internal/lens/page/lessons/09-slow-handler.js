import { until } from './engine.js';
import { at, calls, change, fault, fresh, handler, have, mend, verdict, web } from './helpers.js';

const changes = (n) => Array.from({ length: n }, (_, i) => change(web, i));
const enqueued = (n) => until('the other handler has got all', (events) => calls(events, web, 'enqueue').length >= n);

const backlog = (now) => handler(now, 'audit').Depth;

/** caughtUp: the handler was ten calls behind the other, and then got them all. */
const caughtUp = (events) => {
  let behind = 0;
  let most = 0;
  for (const e of at(events, 'called', { kind: 'Service', key: web })) {
    behind += e.handler === 'enqueue' ? 1 : -1;
    most = Math.max(most, behind);
  }
  return most >= 9 && behind === 0; // the call that it is in is one
};

export default {
  id: 'slow-handler',
  right: 2,
  setup: [...fresh(), ...have(web), fault('slow', { handler: 'audit', ms: 600000 })],
  run: [
    ...changes(5),
    enqueued(5),
    until('the slow one has a backlog', (events, now) => backlog(now) >= 4), // the state may come after the events
  ],
  decides: (e) => e.at === 'called' && e.handler === 'audit',
  proof(events, now) {
    const stored = at(events, 'stored', { kind: 'Service', key: web });
    return verdict([...stored, ...at(events, 'called', { kind: 'Service', key: web })], {
      'the store took 5 versions': stored.length === 5,
      'the other handler got 5 calls': calls(events, web, 'enqueue').length === 5,
      'the slow handler is in its first call': calls(events, web).length === 1,
      'its backlog has the others': backlog(now) >= 4,
    });
  },
  breakSetup: [...fresh(), ...have(web)],
  goal: caughtUp,
  solution: [
    fault('slow', { handler: 'audit', ms: 600000 }),
    ...changes(10),
    enqueued(10),
    mend('slow'),
    until('the backlog is empty', caughtUp),
  ],
};
