import { until } from './engine.js';
import { apply, at, fault, fresh, mend, verdict, web } from './helpers.js';

const late = 1000; // milliseconds, each frame of a watch and each request
const host = 'new.example.com';
const wanted = apply([web, { http: true }], [web, { http: true, host }]); // one after the other, but asked for at once
const creates = (events) => at(events, 'written', { key: web, action: 'POST' });
const corrections = (events) => at(events, 'written', { key: web, action: 'PATCH', code: 200 });
const waits = (e) => e.at === 'decided' && e.action.startsWith('waits for the cache');

/** twice: the server refused a second create of the Ingress. */
const twice = (events) => creates(events).some((e) => e.code === 409);

export default {
  id: 'stale-cache',
  right: 3,
  setup: [...fresh(), fault('delay', { ms: late })],
  run: [
    wanted,
    until('the Ingress was corrected', (events) => corrections(events).length > 0),
    mend('delay'),
  ],
  decides: waits,
  proof(events) {
    const first = creates(events)[0];
    const waited = events.find(waits);
    const stored = at(events, 'stored', { kind: 'Ingress', key: web })[0];
    const corrected = corrections(events)[0];
    return verdict([first, waited, stored, corrected].filter(Boolean), {
      'one create': creates(events).length === 1,
      'the second reconcile waits for the cache': waited?.seq > first?.seq,
      'the cache has the Ingress after that': stored?.seq > waited?.seq,
      'then the Ingress is corrected': corrected?.seq > stored?.seq,
    });
  },
  breakSetup: [...fresh({ queue: 'perkey' })],
  goal: twice,
  solution: [
    fault('delay', { ms: late }),
    wanted,
    until('a second create', twice),
    mend('delay'),
  ],
};
