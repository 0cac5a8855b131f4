import { act, until } from './engine.js';
import { apply, at, fault, fresh, mend, verdict, web } from './helpers.js';
import finding from './14-under-fire.json' with { type: 'json' };

const died = finding.recorded.findIndex((e) => e.action === 'the program has ended');
const show = (recorded, label) => ({ ...act('replay', { ...finding, recorded }), label });
const starts = (events) => events.filter((e) => e.action === 'the program starts');
const secrets = (events) => at(events, 'written', { kind: 'secrets', action: 'POST', code: 201 });
const creates = (events, code) => at(events, 'written', { kind: 'Ingress', key: web, action: 'POST', code });

/** inSpite: a creation was refused, and a later one was not. */
const inSpite = (events) => {
  const refused = creates(events, 500)[0];
  return refused !== undefined && creates(events, 201).some((e) => e.seq > refused.seq);
};

export default {
  id: 'under-fire',
  right: 2,
  setup: [
    act('clear'),
    show(finding.recorded.slice(0, died + 1), 'the finding, up to the crash'),
    until('it has died', (events) => events.some((e) => e.action === finding.recorded[died].action)),
  ],
  run: [
    show(finding.recorded, 'the finding'),
    until('it has started again', (events) => starts(events).length > 1),
  ],
  decides: (e) => e.at === 'written' && e.key === 'default/web-2',
  proof(events) {
    const [first, second] = secrets(events);
    const again = starts(events)[1];
    const named = at(events, 'written', { kind: 'configmaps', key: web, code: 200 });
    return verdict([first, again, second, named[0]].filter(Boolean), {
      'it starts again after the first Secret is stored': again?.seq > first?.seq,
      'it creates another': second?.seq > again?.seq && second.key !== first.key,
      'it writes down the name of the second': named.length === 1 && named[0].seq > second?.seq,
    });
  },
  breakSetup: fresh(),
  goal: inSpite,
  solution: [
    fault('fail'),
    apply([web, { http: true }]),
    until('a creation is refused', (events) => creates(events, 500).length > 0),
    mend('fail'),
    until('the Ingress is created', inSpite),
  ],
};
