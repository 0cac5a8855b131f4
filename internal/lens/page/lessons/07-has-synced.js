import { act, until } from './engine.js';
import { apply, at, beforeTheFirstList, fault, handler, services, verdict, whole } from './helpers.js';

const world = () => [...beforeTheFirstList(), apply('default/a', 'default/b', 'default/c')];

/** tooEarly: the list is there and parked behind the queue, and the informer has not synced. */
const tooEarly = (events, now) => !services(now).synced
  && at(events, 'handed', { kind: 'Service', action: 'Replace' }).length > 0
  && now.gate.parked.some((p) => p.at === 'popped' && p.kind === 'Service');

export default {
  id: 'has-synced',
  key: 'default/a',
  right: 1,
  setup: [...world(), fault('slow', { handler: 'audit', ms: 600000 })],
  run: [
    act('run'),
    until('the informer and one handler have synced', (events, now) => services(now).synced && handler(now, 'enqueue').Synced),
  ],
  decides: (e) => e.at === 'returned' && e.kind === 'Service' && e.handler === 'enqueue',
  proof(events, now) {
    const returned = at(events, 'returned', { kind: 'Service', handler: 'audit' });
    const of = (boundary) => at(events, boundary, { kind: 'Service' });
    return verdict([...whole(of('popped')), ...of('stored'), ...of('called')], {
      'the informer has synced': services(now).synced,
      'the store has the list': services(now).objects >= 3,
      'the fast handler has synced': handler(now, 'enqueue').Synced,
      'the slow handler has not': !handler(now, 'audit').Synced && returned.length === 0,
    });
  },
  breakSetup: world(),
  goal: tooEarly,
  solution: [
    act('breakpoint', { at: 'popped', key: 'default/a' }),
    act('run'),
    until('the list is popped', tooEarly),
    act('clear'),
  ],
};
