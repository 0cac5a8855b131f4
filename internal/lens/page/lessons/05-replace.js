import { until } from './engine.js';
import { apply, at, calls, change, fault, fresh, have, mend, remove, services, shape, verdict } from './helpers.js';

const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => `default/${name}`);

/** goesOn: a watch was lost, for another was asked for, and a change came by that, without a list. */
const goesOn = (events) => {
  const [lost] = at(events, 'request', { kind: 'Service', action: 'WATCH' });
  const told = at(events, 'called', { kind: 'Service', handler: 'audit' });
  return at(events, 'handed', { kind: 'Service', action: 'Replace' }).length === 0
    && lost !== undefined && told.some((e) => e.seq > lost.seq);
};

export default {
  id: 'replace',
  key: a,
  right: 2,
  // While only watches fail, the reflector lists after a while. No list must come before all is changed.
  setup: [...fresh(), ...have(a, b, c), fault('token'), until('the reflector has lost its watch', (events, now) => services(now).state === 'BackingOff')],
  run: [
    change(a, 1),
    remove(b),
    apply(d),
    fault('compact'),
    mend('token'),
    until('the handler has got d', (events) => calls(events, d).length > 0),
  ],
  decides: (e) => e.at === 'handed' && e.kind === 'Service' && e.action === 'Replace' && e.key,
  proof(events) {
    const told = at(events, 'called', { kind: 'Service', handler: 'audit' }).filter((e) => [a, b, c, d].includes(e.key));
    const of = (key) => calls(events, key);
    return verdict(told, {
      'first OnDelete of b, a tombstone': told[0]?.key === b && shape(of(b)) === 'OnDelete tombstone',
      'OnUpdate of a, to another version': shape(of(a)) === 'OnUpdate' && of(a)[0].old !== of(a)[0].rv,
      'OnUpdate of c, to the same version': shape(of(c)) === 'OnUpdate' && of(c)[0].old === of(c)[0].rv,
      'OnAdd of d, not of the initial list': shape(of(d)) === 'OnAdd',
    });
  },
  breakSetup: [...fresh(), ...have(a)],
  goal: goesOn,
  solution: [fault('break'), change(a, 1), until('the change came', goesOn)],
};
