import { until } from './engine.js';
import { at, calls, change, fault, fresh, have, mend, verdict, web } from './helpers.js';

const resyncs = (events) => calls(events, web).filter((e) => e.action === 'OnUpdate' && e.old === e.rv);

/** repaired: a resync gave the handler a version that a later list replaced, and no event of a watch did. */
const repaired = (events) => {
  const lists = at(events, 'handed', { kind: 'Service', action: 'Replace' });
  const fixes = calls(events, web).filter((e) => e.action === 'OnUpdate' && e.old !== e.rv);
  return at(events, 'decoded', { key: web, kind: 'Service', action: 'MODIFIED' }).length === 0 && fixes.some(
    (fix) => lists.some((list) => list.seq < fix.seq && resyncs(events).some((r) => r.rv === fix.old && r.seq < list.seq)),
  );
};

const world = () => [...fresh({ resync_ms: 2000 }), ...have(web)];

export default {
  id: 'resync',
  right: 4,
  setup: world(),
  run: [until('a resync', (events) => resyncs(events).length > 0)],
  decides: (e) => e.at === 'popped' && e.kind === 'Service' && e.action === 'SyncAll',
  proof(events) {
    const popped = at(events, 'popped', { kind: 'Service' });
    return verdict([...popped, ...resyncs(events)], {
      'the queue had a SyncAll': popped.some((e) => e.action === 'SyncAll'),
      'OnUpdate from a version to itself': resyncs(events).length > 0,
      'no request to the server': at(events, 'request').length === 0,
      'no event of the server': at(events, 'decoded', { kind: 'Service' }).every((e) => e.action === 'BOOKMARK'),
    });
  },
  goal: repaired,
  solution: [
    fault('drop'),
    change(web, 1),
    until('the change is lost', (events) => at(events, 'sent', { key: web }).some((e) => e.error)),
    until('a resync', (events) => resyncs(events).some((r) => at(events, 'sent', { key: web }).some((e) => e.seq < r.seq))),
    mend('drop'),
    fault('expire'),
    until('the list repairs it', repaired),
  ],
};
