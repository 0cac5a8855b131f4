// Says where the dots go wrong: node check.mjs MOTION.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const { mostTokens, move, pauseAfter, stepsOf } = await import(pathToFileURL(resolve(process.argv[2])));
const want = (what, is, should) => JSON.stringify(is) === JSON.stringify(should)
  || console.log(`want ${what}: ${JSON.stringify(should)}, got ${JSON.stringify(is)}`);

let seq = 0;
const event = (at, more) => ({ seq: ++seq, us: seq * 1000, at, kind: 'Service', key: 'default/web', rv: '8', ...more });
const bare = (at) => event(at, { kind: undefined, rv: undefined });
const play = (tokens, events) => stepsOf(events).reduce((states, step) => [...states, move(states.at(-1), step)], [tokens]).slice(1);

const path = ['sent', 'decoded', 'handed', 'popped', 'stored', 'called', 'returned'];
const first = play([], path.map((at) => event(at)));
want('the boxes of a change', first.map(([token]) => token.box),
  ['apiserver', 'listwatch', 'reflector', 'deltafifo', 'indexer', 'handlers', 'handlers']);
want('one dot', first.map((tokens) => tokens.length), [1, 1, 1, 1, 1, 1, 1]);
want('one life', new Set(first.map(([token]) => token.life)).size, 1);

const [second] = play(first.at(-1), [event('sent', { rv: '9' })]);
want('another version to be another dot', [second.length, second[0].life === first[0][0].life, second[0].box, second[0].rv],
  [1, false, 'apiserver', '9']);

const [late] = play(first.at(-1), [event('written')]);
want('a dot to stay where the watch has brought it', late[0].box, 'handlers');

const [queued, taken, written, sent] = play([], [bare('queued'), bare('taken'), event('written', { kind: 'Ingress', rv: '10' }),
  event('sent', { kind: 'Ingress', rv: '10' })]);
want('a key to come from the handlers', [queued[0].from, queued[0].box, taken[0].box], ['handlers', 'workqueue', 'workqueue']);
want('what is written to go up to the server', [written[1].box, sent[1].box, sent[1].life === written[1].life],
  ['controller', 'apiserver', true]);
want('a tombstone to be seen', play([], [event('called', { tombstone: true })])[0][0].tombstone, true);

const many = Array.from({ length: 50 }, (_, i) => event('popped', { key: 'storm/s-' + i, batch: 7, n: 50 }));
want('one step for one call', stepsOf(many).length, 1);
want('no more dots than there is room for', play([], many)[0].length, mostTokens);
want('nothing of what has no key', stepsOf([event('state', { key: undefined })]), []);

const after = (us, at = 'decoded') => pauseAfter([event('sent', { us: 0 })], [event(at, { us })], 1000);
want('a millisecond to take a second', after(1000), 1000);
want('nothing to be too quick or too slow to be seen', [after(1), after(60_000_000)], [500, 1500]);
want('no pause without slow motion', pauseAfter([event('sent')], [event('decoded')], 1), 0);

// The ways of the state machine, and the newest of each informer.
const { taken: waysOf } = await import(pathToFileURL(resolve(process.argv[2], '../machine.js')));
const state = (action, kind = 'Service') => event('state', { action, kind, key: undefined });
const ways = waysOf([state('Connecting'), state('Watching', 'Ingress'), state('Watching'), state('BackingOff'), state('Connecting'), state('Watching')]);
want('each way once, and the last of them marked', ways.map(({ from, to, last }) => [from, to, last]),
  [['Connecting', 'Watching', true], ['Watching', 'BackingOff', false], ['BackingOff', 'Connecting', false]]);
