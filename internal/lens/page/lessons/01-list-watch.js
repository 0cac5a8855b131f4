import { act, until } from './engine.js';
import { apply, at, beforeTheFirstList, calls, fault, fresh, have, mend, services, shape, verdict } from './helpers.js';

const first = ['default/a', 'default/b', 'default/c'];
const later = 'default/d';
const replaces = (events) => at(events, 'handed', { kind: 'Service', action: 'Replace' });

export default {
  id: 'list-watch',
  key: 'default/a',
  right: 2,
  setup: [...beforeTheFirstList(), apply(...first)],
  run: [
    act('run'),
    until('the informer has synced', (events, now) => services(now).synced),
    apply(later),
    until('the handler has got the fourth', (events) => calls(events, later).length > 0),
  ],
  decides: (e) => e.at === 'handed' && e.kind === 'Service' && e.action === 'Replace' && e.key,
  proof(events) {
    const lists = new Set(replaces(events).map((e) => e.batch || e.seq));
    const because = [...first, later].flatMap((key) => calls(events, key));
    return verdict(because, {
      'one Replace': lists.size === 1,
      'OnAdd of a, b and c, of the initial list': first.every((key) => shape(calls(events, key)) === 'OnAdd initial'),
      'OnAdd of d, of the watch': shape(calls(events, later)) === 'OnAdd',
    });
  },
  breakSetup: [...fresh(), ...have('default/a')],
  goal: (events) => replaces(events).length > 0,
  solution: [fault('expire'), until('a second list', (events) => replaces(events).length > 0)],
};
