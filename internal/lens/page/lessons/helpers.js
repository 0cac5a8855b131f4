// What the lessons share: states to begin with, and questions to ask of events.
import { act, release, until } from './engine.js';

/** web is the key that most lessons are about. */
export const web = 'default/web';
export const busy = 'default/busy';

/** service is a Service in YAML. Labels are an object; with http it asks for an Ingress, with host for one of that host. */
const service = (key, { labels = {}, http = false, host } = {}) => {
  const [namespace, name] = key.split('/');
  const annotations = http ? { 'ingress/http': 'true', ...(host && { 'ingress/host': host }) } : {};
  return JSON.stringify({
    apiVersion: 'v1', kind: 'Service', metadata: { namespace, name, labels, annotations }, spec: { ports: [{ port: 80 }] },
  });
};

/** apply creates or changes Services: each is a key, or a key and what service takes. */
export const apply = (...list) => ({
  ...act('apply', { yaml: list.map((s) => (Array.isArray(s) ? service(...s) : service(s))).join('\n---\n') }),
  label: list.map((s) => (Array.isArray(s) ? `${s[0]} ${JSON.stringify(s[1])}` : s)).join(' '),
});

/** change gives a Service a label, so that it has another version. */
export const change = (key, n, options = {}) => apply([key, { ...options, labels: { change: String(n) } }]);

/** remove deletes a Service. */
export const remove = (key) => act('delete', { kind: 'Service', key });

/** fault switches a fault on, with what it needs, and mend switches it off. compact and expire happen once. */
export const fault = (name, more = {}) => act('fault', { name, on: true, ...more });
export const mend = (name) => act('fault', { name, on: false });

/** services is what the informer of Services says of itself; audit its handler that does nothing. */
export const services = (now) => now.state.informers.services;
export const handler = (now, name) => services(now).handlers.find((h) => h.Name === name);

/** calls are the calls of a handler for a Service. */
export const calls = (events, key, name = 'audit') => events.filter(
  (e) => e.at === 'called' && e.handler === name && e.kind === 'Service' && e.key === key,
);

/** at returns the events at a boundary that have all that is given. */
export const at = (events, boundary, given = {}) => events.filter(
  (e) => e.at === boundary && Object.entries(given).every(([field, value]) => e[field] === value),
);

/** shape writes calls in short, so that they can be compared. */
export const shape = (list) => list.map((e) => e.action + (e.initial ? ' initial' : '') + (e.tombstone ? ' tombstone' : '')).join(', ');

/** whole writes the events of one call of an observer, such as those of a list's objects, as one. */
export const whole = (list) => list.filter((e) => !e.batch || e.batch === e.seq).map(
  (e) => (e.n > 1 ? { ...e, key: '', rv: '', old: '', action: `${e.action} (${e.n})` } : e),
);

/** verdict is a proof's result: checks maps what must hold to whether it does, because are the events that show it. */
export const verdict = (because, checks) => {
  const missing = Object.keys(checks).filter((what) => !checks[what]);
  return { ok: missing.length === 0, because, missing };
};

/** fresh begins a world without breakpoints, and waits for the first lists. */
export const fresh = (options = {}) => [
  act('clear'),
  act('reset', options),
  until('both informers watch', (events, now) => Object.values(now.state.informers).every((i) => i.state === 'Watching' && i.synced)),
];

/** isSettled: what a key was last queued for was reconciled, and with http its Ingress has arrived. */
export const isSettled = (events, key, { http = false } = {}) => {
  const last = events.filter((e) => e.key === key && ['queued', 'taken', 'reconciled'].includes(e.at)).pop();
  const created = at(events, 'returned', { key, kind: 'Ingress', handler: 'enqueue' }).length > 0;
  return last?.action === 'ok' && (created || !http);
};

/** have creates Services, and waits until they have passed. */
export const have = (...list) => [
  apply(...list),
  until('all is reconciled', (events) => list.map((s) => (Array.isArray(s) ? s : [s])).every(
    ([key, options]) => calls(events, key).length > 0 && isSettled(events, key, options),
  )),
];

/** cut: the watches end, and new ones get no answer. */
export const cut = () => [
  fault('cut'),
  until('the reflector has lost its watch', (events, now) => services(now).state === 'BackingOff'),
];

/** parkConsumer parks the consumer of Services at a change of default/busy. Everything else goes on. */
export const parkConsumer = () => [
  act('breakpoint', { at: 'popped', kind: 'Service', key: busy }),
  change(busy, 1),
  until('the consumer is parked', (events, now) => now.gate.hit),
  act('pause', { key: busy }),
  act('clear'),
  release((p) => p.at === 'popped'),
];

/** parkWorker parks a worker that has taken the key web. Everything else goes on. */
export const parkWorker = () => [
  act('breakpoint', { at: 'taken', key: web }),
  change(web, 'first'),
  until('a worker is parked', (events, now) => now.gate.hit),
  act('pause', { key: 'nothing/else' }),
  act('clear'),
  release((p) => p.at === 'taken'),
];

/** beforeTheFirstList begins a world whose informer of Services is parked before its first list. */
export const beforeTheFirstList = (options = {}) => [
  act('clear'),
  act('breakpoint', { at: 'state', kind: 'Service', action: 'ListingStreaming' }),
  act('reset', options),
  until('the reflector is parked', (events, now) => now.gate.hit),
  act('clear'),
];
