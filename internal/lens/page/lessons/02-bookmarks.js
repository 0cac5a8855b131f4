import { act, until } from './engine.js';
import { at, fault, fresh, have, verdict, web } from './helpers.js';

/** other writes an object that the informer of Services does not look at. */
const other = (n) => ({
  ...act('apply', { yaml: JSON.stringify({
    apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: `other-${n}` }, data: { n: String(n) },
  }) }),
  label: `ConfigMap default/other-${n}`,
});
const bookmarks = (events) => at(events, 'handed', { kind: 'Service', action: 'Bookmark' });
const watches = (events) => at(events, 'request', { kind: 'Service', action: 'WATCH', code: 200 });
const isNewer = (bookmark, now) => Number(bookmark.rv) > Number(now.stores.services.objects[web]);
const gone = (events) => at(events, 'sent', { kind: 'Service', action: 'ERROR' }).length > 0;

export default {
  id: 'bookmarks',
  right: 3,
  setup: [...fresh({ bookmark_ms: 1000 }), ...have(web)],
  run: [
    ...[1, 2, 3].map(other),
    until('a bookmark of a version that no Service has', (events, now) => bookmarks(events).some((e) => isNewer(e, now))),
    fault('break'), // a cut that lasts long on a slow machine would end in a list
    until('the watch goes on', (events) => watches(events).length > 0), // the state may tell of it before the event does
  ],
  decides: (e) => e.at === 'request' && e.kind === 'Service' && e.action === 'WATCH' && e.code === 200,
  proof(events, now) {
    const watch = watches(events).pop();
    const bookmark = bookmarks(events).filter((e) => e.seq < watch?.seq).pop();
    return verdict([bookmark, watch].filter(Boolean), {
      'a bookmark with a version that no Service has': bookmark !== undefined && isNewer(bookmark, now),
      'WATCH from the version of the bookmark': bookmark !== undefined && watch?.rv === bookmark.rv,
      'no list': at(events, 'handed', { kind: 'Service', action: 'Replace' }).length === 0,
      'no call of the handler': at(events, 'called', { kind: 'Service' }).length === 0,
    });
  },
  breakSetup: [...fresh(), ...have(web)],
  goal: gone,
  solution: [fault('expire'), until('410 Gone', gone)],
};
