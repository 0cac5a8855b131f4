import { look, until } from './engine.js';
import { apply, at, fresh, have, verdict, web } from './helpers.js';

const labelled = (key, app) => [key, { labels: { app } }];
const arrived = (events) => at(events, 'stored', { kind: 'Service', key: web }).length > 0;

/** three: a value of the index has three objects. The page asks for the indices a moment after each change. */
const three = (events, now) => Object.values(now.stores.services?.indices.app || {}).includes(3);

export default {
  id: 'indices',
  right: 1,
  setup: [...fresh(), ...have(labelled(web, 'shop'), labelled('default/cart', 'shop'), labelled('default/posts', 'blog'))],
  run: [apply(labelled(web, 'blog')), until('the store has it', arrived), look()],
  decides: (e) => e.at === 'stored' && e.key === web,
  proof(events, now) {
    const { app } = now.contents.services.indices;
    const shown = Object.entries(app).map(([value, n]) => ({ seq: value, at: 'index app', key: '', action: value, rv: String(n) }));
    return verdict([...at(events, 'stored', { kind: 'Service', key: web }), ...shown], {
      'one write to the store': at(events, 'stored', { kind: 'Service', key: web, action: 'replaced' }).length === 1,
      'blog has two objects': app.blog === 2,
      'shop has one': app.shop === 1,
    });
  },
  goal: three,
  solution: [apply(labelled(web, 'blog'), labelled('default/cart', 'blog')), until('three have one value', three)],
};
