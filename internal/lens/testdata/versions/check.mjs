// Says where versions of an object are compared wrongly: node check.mjs VERSIONS.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const { differs, versionsOf } = await import(pathToFileURL(resolve(process.argv[2])));
const want = (what, is, should) => JSON.stringify(is) === JSON.stringify(should)
  || console.log(`want ${what}: ${JSON.stringify(should)}, got ${JSON.stringify(is)}`);

const view = (journey) => ({
  chosen: 'default/web', journey, state: { informers: { services: { kind: 'Service', handlers: [{ Name: 'audit' }] } } },
  stores: { services: { objects: { 'default/web': '8' } } },
});
const compared = (journey, server) => versionsOf(view(journey), server).flatMap(({ places }) =>
  places.map(([name, rv]) => `${name} ${rv}${differs(places, rv) ? ' differs' : ''}`));
const sent = (seq, action, rv) => ({ seq, at: 'decoded', kind: 'Service', action, rv });

want('no difference from a server of which nothing is known', compared([], null), ['server ', 'store 8', 'audit ']);
want('an old copy to be seen', compared([sent(1, 'MODIFIED', '9')], null), ['server 9', 'store 8 differs', 'audit ']);
want('a deletion to be seen', compared([sent(1, 'DELETED', '9')], null), ['server none', 'store 8 differs', 'audit ']);
want("the server's own word to count", compared([sent(1, 'MODIFIED', '8')], { got: { Service: '10' }, seq: 1 }),
  ['server 10', 'store 8 differs', 'audit ']);
want('what it sent since to count more', compared([sent(2, 'MODIFIED', '8')], { got: { Service: '7' }, seq: 1 }),
  ['server 8', 'store 8', 'audit ']);
