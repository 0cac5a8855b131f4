import { act, until } from './engine.js';
import { at, fresh, have, verdict, web } from './helpers.js';

const ingress = (label, more) => ({
  ...act('apply', { yaml: JSON.stringify({
    apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { namespace: 'default', name: 'web', ...more.metadata }, spec: more.spec,
  }) }),
  label: `Ingress default/web ${label}`,
});

/** claim is what the other controller writes: it wants another host. */
const claim = ingress('with the host other.example.com', { spec: { rules: [{ host: 'other.example.com', http: { paths: [
  { path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } },
] } }] } });
const corrections = (events) => at(events, 'decided', { key: web }).filter((e) => e.action.startsWith('corrected'));
const rounds = 5;

/** inPeace: somebody changed the Ingress, the controller looked at that, and had nothing to write. */
const inPeace = (events) => {
  const written = at(events, 'written', { key: web });
  return at(events, 'decoded', { kind: 'Ingress', key: web, action: 'MODIFIED' }).some((change) => {
    const done = at(events, 'forgotten', { key: web }).find((e) => e.seq > change.seq);
    const near = (e) => e.us > change.us - 1e6 && e.seq < done.seq;
    return done && !events.some((e) => e.at === 'putoff' && e.seq > done.seq) && !written.some(near);
  });
};

export default {
  id: 'fight',
  right: 3,
  setup: [...fresh(), ...have([web, { http: true }])],
  run: Array.from({ length: rounds }, (_, i) => [
    claim,
    until(`correction ${i + 1}`, (events) => corrections(events).length > i),
  ]).flat(),
  decides: (e) => e.at === 'decided' && e.action.includes('waits'),
  proof(events) {
    const did = corrections(events);
    const waits = (i, delay) => did[i]?.action.endsWith(`waits ${delay}`); // a measured pause would be that of a slow machine, too
    return verdict(did, {
      'it corrects each time': did.length === rounds,
      'the first three at once': did.slice(0, 2).every((e) => !e.action.includes('waits')),
      'the fourth after a second': waits(2, '1s'),
      'the fifth after two': waits(3, '2s'),
    });
  },
  goal: inPeace,
  solution: [
    ingress('with the annotation note', { metadata: { annotations: { note: 'not yours' } } }),
    until('both agree', inPeace),
  ],
};
