// Plays streams to ../../page/connection.js, and says what it does wrong: node check.mjs CONNECTION.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const opened = [];
globalThis.EventSource = class {
  constructor(url) {
    Object.assign(this, { url, isOpen: true, listeners: {} });
    opened.push(this);
  }
  addEventListener(type, f) { this.listeners[type] = f; }
  close() { this.isOpen = false; }
  say(type, data) { this.listeners[type]({ type, data: JSON.stringify(data) }); }
};
let retry = null; // what waits for its time
globalThis.setTimeout = (f) => { retry = f; };
globalThis.clearTimeout = () => { retry = null; };
let status = 0; // of an answer; 0 is none
globalThis.fetch = async () => (status ? { status, ok: status < 400 } : Promise.reject(new Error('no server')));
const answered = () => new Promise((resolve) => { setImmediate(resolve); });

const { act, connect } = await import(pathToFileURL(resolve(process.argv[2])));
const got = [];
const connection = connect((message) => got.push(message.data?.name ?? message));
const want = (what, holds) => holds || console.log('want ' + what);
const last = () => JSON.stringify(got.at(-1));

opened[0].say('snapshot', { name: 'first world' });
opened[0].say('snapshot', { name: 'second world' });
opened[0].say('tick', { name: 'a tick' });
want('a stream to be read on after a reset', opened[0].isOpen && last() === '"a tick"');

connection.follow('default/web');
want('the key in the address', opened[1].url === 'stream?follow=default%2Fweb');
want('one stream at a time', !opened[0].isOpen && opened[1].isOpen);
opened[0].say('tick', { name: 'newer than the snapshot that comes' });
want('nothing of a stream that was closed', last() === '"a tick"');
opened[1].say('snapshot', { name: 'followed' });
want('the stream with the key', last() === '"followed"');

connection.follow('default/a');
connection.follow('default/b');
want('the stream that nobody wants any more to be closed', !opened[2].isOpen && !opened[1].isOpen);
opened[2].say('error');
want('no word of a stream that nobody reads', last() === '"followed"');
opened[3].say('snapshot', { name: 'b' });
want('the newest to be read', last() === '"b"');

opened[3].say('error');
want('a sign that the connection is broken', last() === '{"type":"connection","up":false}');
await answered();
want('no word of the token while nothing answers', last() === '{"type":"connection","up":false}');
retry();
status = 401;
opened[4].say('error');
await answered();
want('a server that wants another token to be told of', last() === '{"type":"connection","up":false,"refused":401}');
retry();
opened[5].say('snapshot', { name: 'again' });
want('a stream after two breaks', opened.filter((s) => s.isOpen).length === 1 && last() === '"again"');
want('the key to be followed still', opened[5].url.endsWith('default%2Fb'));

// What changes the world is done in order; so is what begins another world; the gate waits for nobody.
const asked = [];
globalThis.fetch = (address) => new Promise((resolve) => { asked.push({ address, answer: (body, ok = true) => resolve({ ok, text: async () => body }) }); });
const addresses = () => asked.map(({ address }) => address.slice('act/'.length)).join();
const results = [];
for (const name of ['delete', 'fault', 'reset', 'apply', 'run']) act(name).then(() => results.push(name), () => results.push(name + ' refused'));
await answered();
want('the second change to wait for the first: ' + addresses(), addresses() === 'run,delete');
asked[1].answer('{"error":"gone"}', false);
await answered();
want('a refusal to keep nothing back: ' + addresses(), addresses() === 'run,delete,fault' && results.join() === 'delete refused');
asked[2].answer('{}');
await answered();
want('another world to be begun in its turn: ' + addresses(), addresses() === 'run,delete,fault,reset');
asked[3].answer('{}');
await answered();
want('one after the other: ' + addresses(), addresses() === 'run,delete,fault,reset,apply' && results.join() === 'delete refused,fault,reset');
