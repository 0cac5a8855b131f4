// Says where a link loses what it carries: node check.mjs SHARE.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

globalThis.matchMedia = () => ({ matches: false });
globalThis.location = { origin: 'http://127.0.0.1:1', pathname: '/' };
globalThis.self = globalThis;
let saved = { actions: [] };
globalThis.fetch = async () => ({ ok: true, text: async () => JSON.stringify(saved) });
const { linkOf, momentOf, packed, seqOf, unpacked } = await import(pathToFileURL(resolve(process.argv[2])));
const want = (what, is, should) => JSON.stringify(is) === JSON.stringify(should)
  || console.log(`want ${what}: ${JSON.stringify(should)}, got ${JSON.stringify(is)}`);

const session = { actions: [{ act: 'apply', body: { yaml: '名字: ü' } }] };
const text = await packed(session);
want('an address that nothing must be escaped in', /^[\w-]+$/.test(text), true);
want('what was packed', await unpacked(text), session);
want('a text that was cut to be refused', await unpacked(text.slice(0, -6)).catch(() => 'refused'), 'refused');

const event = (seq, at, more) => ({ seq, at, kind: 'Service', key: 'default/web', ...more });
const then = [event(5, 'popped'), event(6, 'called', { handler: 'a' }), event(7, 'called', { handler: 'b' }), event(9, 'popped')];
const again = then.map((e) => ({ ...e, seq: e.seq * 10 }));
want('each event to be found again', then.map((e) => seqOf(again, momentOf(then, e))), [50, 60, 70, 90]);
want('what has not come not to be found', seqOf(again.slice(0, 2), momentOf(then, then[3])), undefined);

const shared = { view: { events: then }, moment: 9, live: { world: 2, path: '/look', can: null }, lens: { journey: async () => then } };
const whole = await linkOf(shared);
want('a link with the moment and the session', [whole.isWhole, whole.link.startsWith('http://127.0.0.1:1/#/look?at=2.9&session=')], [true, true]);
want('what it carries', await unpacked(whole.link.split('session=')[1]), { session: saved, moment: { at: 'popped', kind: 'Service', key: 'default/web', n: 1 } });
saved = { actions: Array.from({ length: 4000 }, () => String(Math.random())) };
const cut = await linkOf(shared);
want('a session that is too long to be left out, and told of', [cut.isWhole, cut.link, cut.characters > 8000], [false, 'http://127.0.0.1:1/#/look?at=2.9', true]);
want('no session where none can be played', await linkOf({ ...shared, live: { ...shared.live, can: [] } }), { link: 'http://127.0.0.1:1/#/look?at=2.9', isWhole: false });
