import { until } from './engine.js';
import { at, calls, cut, fault, fresh, have, mend, remove, shape, verdict, web } from './helpers.js';

const tombstones = (events) => at(events, 'called', { kind: 'Service', tombstone: true });

export default {
  id: 'tombstones',
  right: 3,
  setup: [...fresh(), ...have(web), ...cut()],
  run: [
    remove(web),
    fault('compact'),
    mend('cut'),
    until('the handler is told', (events) => calls(events, web).length > 0),
  ],
  decides: (e) => e.at === 'called' && e.kind === 'Service' && e.tombstone,
  proof(events) {
    const told = calls(events, web);
    const stored = at(events, 'stored', { kind: 'Service', key: web });
    return verdict([...stored, ...told], {
      'no DELETED was sent': at(events, 'sent', { key: web, action: 'DELETED', kind: 'Service' }).length === 0,
      'one OnDelete with a tombstone': shape(told) === 'OnDelete tombstone',
      'its version is the last that the store had': told[0]?.rv !== '' && told[0]?.rv === stored[0]?.rv,
    });
  },
  breakSetup: [...fresh({ queue: 'perkey' }), ...have(web)],
  goal: (events) => tombstones(events).length > 0,
  solution: [
    ...cut(),
    remove(web),
    fault('compact'),
    mend('cut'),
    until('a tombstone', (events) => tombstones(events).length > 0),
  ],
};
