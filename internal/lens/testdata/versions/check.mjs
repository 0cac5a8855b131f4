// Says where versions of an object are compared wrongly: node check.mjs VERSIONS.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const { answerAt, asker, differs, versionsOf } = await import(pathToFileURL(resolve(process.argv[2])));
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

const answers = [{ about: 'b', heard: 1 }, { about: 'a', heard: 2 }, { about: 'a', heard: 5 }];
want('a moment of the past to have the answer of then', [1, 2, 4, 5].map((seq) => answerAt(answers, 'a', seq)?.heard ?? null), [null, 2, 2, 5]);

// In a storm there is always a newer question.
let asked = [];
globalThis.setTimeout = (f) => setImmediate(f);
globalThis.fetch = (address) => new Promise((resolve, reject) => { asked.push({ address, reject, answer: () => resolve({ ok: true, text: async () => '{"versions":{"Service":"8"},"seq":7}' }) }); });
const settled = async () => { for (let i = 0; i < 5; i++) await new Promise((resolve) => { setImmediate(resolve); }); };
const told = [];
const ask = asker(({ about, seq, got, heard }) => told.push([about, seq, got.Service, heard]));
for (const seq of [1, 2, 3]) ask({ key: 'default/web', about: 'a', seq });
await settled();
want('one question at a time, the newest', asked.map(({ address }) => address), ['api/versions?key=default%2Fweb']);
for (const seq of [4, 5]) ask({ key: 'default/web', about: 'a', seq });
asked[0].answer();
await settled();
want('an answer to count although there are newer questions', told, [['a', 3, '8', 7]]);
asked[1].reject(new Error('no server'));
ask({ key: 'default/web', about: 'a', seq: 6 });
await settled();
asked[2]?.answer();
await settled();
want('questions after one that had no answer', told, [['a', 3, '8', 7], ['a', 6, '8', 7]]);
