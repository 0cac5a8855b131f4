import { act, until } from './engine.js';
import { at, change, fresh, have, isSettled, parkWorker, verdict, web } from './helpers.js';

const world = () => [...fresh({ workers: 2 }), ...have(web)];

/** again: a key was queued while a worker had it, and was taken once more after that. */
const again = (events) => {
  const state = new Map();
  for (const { at: boundary, key } of events) {
    if (boundary === 'taken') {
      if (state.get(key) === 'done') return true;
      state.set(key, 'processing');
    } else if (boundary === 'queued' && state.get(key) === 'processing') {
      state.set(key, 'dirty');
    } else if (boundary === 'reconciled') {
      state.set(key, state.get(key) === 'dirty' ? 'done' : undefined);
    }
  }
  return false;
};

export default {
  id: 'dirty',
  right: 3,
  setup: [...world(), ...parkWorker()],
  run: [
    ...[1, 2, 3].map((n) => change(web, n)),
    until('it was queued three times', (events) => at(events, 'queued', { key: web }).length === 3),
    act('run'),
    until('it was reconciled twice', (events) => at(events, 'reconciled', { key: web }).length === 2 && isSettled(events, web)),
  ],
  decides: (e) => e.at === 'taken' && e.key === web,
  proof(events) {
    const of = (boundary) => at(events, boundary, { key: web });
    const [first] = of('reconciled');
    const because = events.filter((e) => e.key === web && ['queued', 'taken', 'reconciled'].includes(e.at));
    return verdict(because, {
      'queued 3 times while a worker had it': of('queued').length === 3 && of('queued').every((e) => e.seq < first?.seq),
      'taken once more, after that': of('taken').length === 1 && of('taken')[0].seq > first?.seq,
    });
  },
  breakSetup: world(),
  goal: again,
  solution: [
    ...parkWorker(),
    change(web, 1),
    until('it is dirty', (events, now) => now.state.workqueue.dirty.includes(web)),
    act('run'),
    until('it was taken again', again),
  ],
};
