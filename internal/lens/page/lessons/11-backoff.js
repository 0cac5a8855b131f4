import { until } from './engine.js';
import { apply, at, fault, fresh, isSettled, mend, verdict, web } from './helpers.js';

/** backoffs are the waits after failures: a key is also put off when it was reconciled and is to be looked at again. */
const backoffs = (events) => {
  let failed = false;
  return events.filter((e) => {
    if (e.at === 'reconciled' && e.key === web) failed = e.action === 'failed';
    return failed && e.at === 'putoff' && e.key === web;
  });
};
const wanted = apply([web, { http: true }]);
const second = 1e6; // in microseconds

export default {
  id: 'backoff',
  right: 2,
  setup: [...fresh(), fault('fail')],
  run: [
    wanted,
    until('five tries failed', (events) => backoffs(events).length >= 5),
    mend('fail'),
    until('it is reconciled', (events) => at(events, 'reconciled', { key: web, action: 'ok' }).length > 0
      && isSettled(events, web, { http: true })),
    fault('fail'),
    apply([web, { http: true, host: 'new.example.com' }]),
    until('it fails again', (events) => {
      const ok = at(events, 'reconciled', { key: web, action: 'ok' })[0];
      return backoffs(events).some((e) => e.seq > ok.seq);
    }),
    mend('fail'),
  ],
  decides: (e) => e.at === 'forgotten' && e.key === web,
  proof(events) {
    const ok = at(events, 'reconciled', { key: web, action: 'ok' })[0];
    const before = backoffs(events).filter((e) => !ok || e.seq < ok.seq);
    const after = backoffs(events).filter((e) => ok && e.seq > ok.seq);
    return verdict([...before, ...at(events, 'forgotten', { key: web }).slice(0, 1), ...after.slice(0, 1)], {
      'each wait is twice the one before': before.length >= 5
        && before.every((e, i) => i === 0 || e.delay_us === 2 * before[i - 1].delay_us),
      'it was reconciled in the end': ok !== undefined,
      'the next failure waits as long as the first': after.length > 0 && after[0].delay_us === before[0]?.delay_us,
    });
  },
  breakSetup: fresh(),
  goal: (events) => backoffs(events).some((e) => e.delay_us >= second),
  solution: [
    fault('fail'),
    wanted,
    until('it waits for more than a second', (events) => backoffs(events).some((e) => e.delay_us >= second)),
    mend('fail'),
  ],
};
