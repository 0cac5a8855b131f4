// What moves: tokens, each a change or a key, in the box that it has reached. move is a fold over events, like fold.js: it
// changes nothing, and reads no clock and no document.
import { boxAt, boxes } from './places.js';

export const mostTokens = 8; // that are kept: those that moved last

// A change begins where it is sent or written, a key where it is queued. What else is seen first comes from the box before.
const begins = ['sent', 'written'];
export const ends = ['returned', 'forgotten', 'reconciled'];
const before = Object.fromEntries(boxes.flatMap(({ at }, i) => at.map((boundary) => [boundary, boxes.at(i - 1).id])));

// stepsOf gathers events that are shown at once: those of one call of an observer. What has no key moves nothing.
export function stepsOf(events) {
  const steps = [];
  for (const e of events.filter(({ key }) => key)) {
    const last = steps.at(-1)?.[0];
    if (last && e.batch && last.batch === e.batch && last.at === e.at) {
      steps.at(-1).push(e);
    } else {
      steps.push([e]);
    }
  }
  return steps;
}

// move returns the tokens after a step, oldest first. A step may be a list of thousands of objects.
export const move = (tokens, step) => step.reduce(moved, tokens);

// after returns what is shown, {tokens, step}, after some steps more.
export const after = ({ tokens, step }, steps) => ({ tokens: steps.reduce(move, tokens), step: steps.at(-1) ?? step });

function moved(tokens, e) {
  const id = `${e.kind ?? ''} ${e.key}`;
  const was = tokens.find((token) => token.id === id);
  if (e.at === 'written' && was?.rv === e.rv) {
    return tokens; // the watch was faster than the answer to the write
  }
  const box = boxAt[e.at];
  const isNew = !was || (begins.includes(e.at) && was.rv !== e.rv) || (e.at === 'queued' && was.ended);
  const token = {
    id, kind: e.kind ?? '', key: e.key, rv: e.rv || (isNew ? '' : was.rv), box,
    life: isNew ? e.seq : was.life, // another life is another dot: it does not fly back
    from: isNew ? (begins.includes(e.at) ? box : before[e.at]) : was.from,
    tombstone: !!e.tombstone, error: !!e.error, ended: ends.includes(e.at),
  };
  return [...tokens.filter((other) => other.id !== id), token].slice(-mostTokens);
}

// pauseAfter is how long a step is shown before the next one, in milliseconds, at a speed such as 1/1000. What would be
// too short to be seen, or is long for nothing happens, is not to scale.
const shortest = 500;
const shortestInBox = 80;
const longest = 1500;

export function pauseAfter(step, next, slowness) {
  if (slowness === 1) {
    return 0;
  }
  if (!next) {
    return shortest; // it may come at any moment
  }
  const scaled = ((next[0].us - step[0].us) / 1000) * slowness;
  const least = boxAt[step[0].at] === boxAt[next[0].at] ? shortestInBox : shortest;
  return Math.min(longest, Math.max(least, scaled));
}
