import { act, until } from './engine.js';
import { apply, at, busy, calls, change, fresh, have, parkConsumer, remove, services, shape, verdict, web } from './helpers.js';

const fiveWait = (events, now) => services(now).queued >= 6; // with the one that the consumer is at

export default {
  id: 'deltas',
  right: 3,
  setup: [...fresh(), ...have(web, busy), ...parkConsumer()],
  run: [
    change(web, 1),
    remove(web),
    apply(web),
    until('three deltas wait', (events, now) => services(now).queued === 4),
    act('run'),
    until('the handler has got the new one', (events) => calls(events, web).some((e) => e.action === 'OnAdd')),
  ],
  decides: (e) => e.at === 'popped' && e.key === web && e.action === 'Deleted',
  proof(events) {
    const popped = at(events, 'popped', { kind: 'Service', key: web });
    return verdict([...popped, ...calls(events, web)], {
      'popped as Updated, Deleted, Added': shape(popped) === 'Updated, Deleted, Added',
      'OnUpdate, OnDelete, OnAdd': shape(calls(events, web)) === 'OnUpdate, OnDelete, OnAdd',
    });
  },
  breakSetup: [...fresh(), ...have(web, busy)],
  goal: fiveWait,
  solution: [...parkConsumer(), ...[1, 2, 3, 4, 5].map((n) => change(web, n)), until('five deltas wait', fiveWait)],
};
