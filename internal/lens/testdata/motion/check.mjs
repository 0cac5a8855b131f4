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

const pause = (us, at = 'decoded') => pauseAfter([event('sent', { us: 0 })], [event(at, { us })], 1000);
want('a millisecond to take a second', pause(1000), 1000);
want('nothing to be too quick or too slow to be seen', [pause(1), pause(60_000_000)], [500, 1500]);
want('no pause without slow motion', pauseAfter([event('sent')], [event('decoded')], 1), 0);

// The ways of the state machine, and the newest of each informer.
const { taken: waysOf } = await import(pathToFileURL(resolve(process.argv[2], '../machine.js')));
const state = (action, kind = 'Service') => event('state', { action, kind, key: undefined });
const ways = waysOf([state('Connecting'), state('Watching', 'Ingress'), state('Watching'), state('BackingOff'), state('Connecting'), state('Watching')]);
want('each way once, and the last of them marked', ways.map(({ from, to, last }) => [from, to, last]),
  [['Connecting', 'Watching', true], ['Watching', 'BackingOff', false], ['BackingOff', 'Connecting', false]]);

// The replay, whose timers are set off by hand.
let timers = new Map();
globalThis.setTimeout = (f) => { timers.set(++seq, f); return seq; };
globalThis.clearTimeout = (id) => timers.delete(id);
const ring = () => { const all = [...timers.values()]; timers = new Map(); all.forEach((f) => f()); };
const { replayer } = await import(pathToFileURL(resolve(process.argv[2], '../replay.js')));
let shown = null;
const replay = replayer({ show: (s) => { shown = s; }, speed: () => 1000, stands: () => 0 });
const view = (more) => ({ world: 1, sampled: false, gate: { muted: false }, ...more });
const dot = (key) => shown.tokens.find((token) => token.key === key && token.kind === 'Service')?.box;
const others = (n) => Array.from({ length: n }, (_, i) => event('popped', { key: 'storm/s-' + (i % 3) }));
replay.take(path.map((at) => event(at)), view());
want('the first step at once', [dot('default/web'), shown.waiting], ['apiserver', 6]);
ring();
want('the next one when its time has come', [dot('default/web'), shown.waiting], ['listwatch', 5]);
replay.take(others(200), view());
want('a stream', [shown.streams, shown.tokens, shown.waiting], [true, [], 0]);
ring();
want('the dots to stand where the last events are when it is over', [shown.streams, dot('default/web'), dot('storm/s-1')], [false, 'handlers', 'deltafifo']);
replay.take(others(200), view({ sampled: true }));
replay.take(path.map((at) => event(at, { key: 'default/new' })), view({ sampled: true }));
replay.take([event('sent', { key: 'default/last' })], view());
want('dots again after a stream, also of what it brought', [shown.streams, dot('default/new'), dot('default/last')], [false, 'handlers', 'apiserver']);
replay.take([...path.map((at) => event(at)), event('sent', { rv: '10' })], view());
replay.skip();
want('what is skipped to have been shown', [dot('default/web'), shown.waiting], ['apiserver', 0]);
replay.take([event('sent', { key: 'default/next' })], view({ world: 2 }));
want('another world to have its own dots', shown.tokens.map(({ key }) => key), ['default/next']);
replay.take(path.map((at) => event(at)), view({ world: 2, gate: { muted: true } }));
want('no dots while nobody is to see any', shown.tokens, []);

// The story: its caption is of the moment that the dots and the boxes show, however far the layers are.
const { fold, start } = await import(pathToFileURL(resolve(process.argv[2], '../fold.js')));
const { shownIn } = await import(pathToFileURL(resolve(process.argv[2], '../past.js')));
const { sceneOf, stands } = await import(pathToFileURL(resolve(process.argv[2], '../story.js')));
let told = { ...start(), isTold: true };
let pauses = [];
globalThis.setTimeout = (f, ms) => { timers.set(++seq, f); pauses.push(ms); return seq; };
const story = replayer({ show: (dots) => { told = fold(told, { type: 'dots', dots }); }, speed: () => 1000, stands });
const tells = (phase, events) => {
  pauses = [];
  told = { ...told, events, seq: seq };
  story.take(events, { world: 1, gate: { muted: false } });
  return events.map(() => {
    const now = shownIn(told);
    const scene = sceneOf(phase, events.filter((e) => e.seq <= now));
    const at = told.dots.step[0].at;
    ring();
    return `${scene} ${at}`;
  });
};
const change = [...['sent', 'decoded', 'stored'].map((at) => event(at)), bare('queued'), event('written', { kind: 'Ingress', rv: '9' })];
want('the caption of a change to follow its dot', tells(0, change), ['0 sent', '1 decoded', '1 stored', '2 queued', '2 written']);
want('what begins a scene to stand there until its caption is read', pauses, [2500, 1000, 1000, 1500, 500]);
const lost = [event('handed', { key: 'default/kubernetes', action: 'Replace' }), event('stored', { action: 'removed' }), event('called', { tombstone: true })];
want('the caption of a tombstone to follow its dot', tells(2, lost), ['4 handed', '5 stored', '5 called']);
want('each phase to begin with its own caption', [0, 1, 2, 3].map((phase) => sceneOf(phase, [])), [0, 3, 4, 6]);
