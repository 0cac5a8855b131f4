// The page's side of ../PROTOCOL.md: the stream, and what can be asked and done.

const retryAfter = 1000; // milliseconds

// connect reads the stream and passes on messages for fold. Where a stream breaks, another is opened.
export function connect(dispatch) {
  let source = null; // the stream that is read; there is never another one beside it, whose messages could be older than its own
  let retry = 0;
  let followed = '';

  function open() {
    clearTimeout(retry);
    source?.close();
    const next = new EventSource('stream' + (followed ? '?follow=' + encodeURIComponent(followed) : ''));
    source = next;
    const read = (message) => {
      if (next === source) {
        dispatch({ type: message.type, data: JSON.parse(message.data), at: performance.now() });
      }
    };
    next.addEventListener('snapshot', read);
    next.addEventListener('tick', read);
    next.addEventListener('error', () => {
      next.close(); // the browser's own retry gives up at an answer such as 502; this one does not
      if (next === source) {
        source = null;
        dispatch({ type: 'connection', up: false });
        tellRefusal();
        retry = setTimeout(open, retryAfter);
      }
    });
  }

  // A stream does not tell why it failed. A server that was started anew wants the token that it printed (401), and the
  // program that a server is attached to may have ended (502).
  async function tellRefusal() {
    const answer = await fetch('api/snapshot').catch(() => null);
    if (answer && !answer.ok && source === null) {
      dispatch({ type: 'connection', up: false, refused: answer.status });
    }
  }

  open();
  return {
    // follow makes sure that no event of a key is left out.
    follow(key) {
      if (key !== followed) {
        followed = key;
        open();
      }
    },
  };
}

// ActError is a refusal, with the server's words.
export class ActError extends Error {
  constructor(message, reason, code) {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}

async function answerOf(response) {
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    throw new ActError(text.trim() || response.statusText, '', response.status);
  }
  if (!response.ok) {
    throw new ActError(body.error, body.reason, response.status);
  }
  return body;
}

// What changes the world is done in the order in which it was asked for, although one request may overtake another.
const inOrder = ['apply', 'delete', 'storm', 'fault', 'reset', 'replay', 'beside'];
let before = Promise.resolve();

// act does something: see "What can be done" in PROTOCOL.md. A body that is a text is sent as it is.
export function act(name, body = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: text };
  const ask = async () => answerOf(await fetch('act/' + name, request));
  if (!inOrder.includes(name)) {
    return ask();
  }
  const done = before.then(ask);
  before = done.catch(() => {}); // whoever asked is told of the refusal
  return done;
}

// file returns what an address answers as a file, with the name that the server gives it, or another.
export async function file(address, otherwise) {
  const response = await fetch(address);
  if (!response.ok) {
    return answerOf(response); // throws
  }
  const named = /filename="([^"]+)"/.exec(response.headers.get('Content-Disposition') ?? '');
  return { name: named?.[1] ?? otherwise, blob: await response.blob() };
}

const asked = async (address) => answerOf(await fetch(address));
const ofKey = (what) => (key) => asked(`api/${what}?key=${encodeURIComponent(key)}`);

// session returns what was done in this world so far.
export const session = () => asked('api/session');

// journey returns the events of a key that the server still has, with their causes.
export const journey = async (key) => (await ofKey('journey')(key)).events ?? [];

// beside returns what is seen of client-go's informers and ours, and all of a key.
export const beside = ofKey('beside');

// versions returns the server's own resourceVersion of a key, by kind, and the newest event then.
export const versions = ofKey('versions');

// snapshot returns what a stream begins with.
export const snapshot = () => asked('api/snapshot');
