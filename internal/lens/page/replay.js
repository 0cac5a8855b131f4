// The replay: what happened is shown again, slowly, one step after the other. It is behind the boxes, which show what is. Where too much
// waits, the dots go at once to where the last step has brought them.
import { after, pauseAfter, stepsOf } from './motion.js';

const mostWaiting = 80; // steps; where more wait, it is a stream, and nobody can follow a dot
const calmest = 40; // steps at once, below which a stream is dots again
const calmAfter = 1000; // milliseconds without an event, after which a stream is over
export const slownesses = [1000, 100, 1]; // 1 is no slow motion
const nothing = { tokens: [], step: null };

// replayer shows what it takes, slowly: show({tokens, step, waiting, streams}): the dots, the step that is shown, how many events wait
// for their turn, and whether all is too fast for dots. speed() is that of pauseAfter, and a step stands for stands(step) milliseconds
// at least.
export function replayer({ show, speed, stands }) {
  let queue = [];
  let timer = 0;
  let calming = 0;
  let world = 0; // whose dots these are
  let now = nothing; // what the last step that was taken out of the queue has led to
  let isStream = false;
  let first = true; // what a page finds when it is opened may be long over

  const say = () => show({ ...(isStream ? nothing : now), waiting: queue.flat().length, streams: isStream });
  const clear = () => {
    clearTimeout(timer);
    [queue, timer] = [[], 0];
  };
  const next = () => {
    const [step, following] = queue;
    if (!step) {
      timer = 0;
      return;
    }
    queue = queue.slice(1);
    now = after(now, [step]);
    say();
    timer = setTimeout(next, Math.max(pauseAfter(step, following, speed()), stands(step)));
  };
  const forget = () => {
    clear();
    now = nothing;
    say();
  };
  const skip = () => {
    now = after(now, queue);
    clear();
    say();
  };
  const calm = () => {
    isStream = false;
    say();
  };
  const take = (events, view) => {
    if (world !== view.world || (view.gate.muted && now !== nothing)) {
      world = view.world;
      forget();
    }
    if (view.gate.muted || events.length === 0) {
      return;
    }
    queue = [...queue, ...stepsOf(events)];
    const was = isStream;
    const tooMany = view.sampled || queue.length > (isStream ? calmest : mostWaiting);
    isStream = tooMany && !first;
    first = false;
    clearTimeout(calming);
    if (isStream) { // nobody sees the dots meanwhile, so that nothing is drawn for them
      now = after(now, queue);
      clear();
      calming = setTimeout(calm, calmAfter);
    }
    if (isStream && was) {
      return;
    }
    if (tooMany) {
      skip();
    } else if (timer === 0 && queue.length > 0) {
      next();
    } else {
      say();
    }
  };
  return { take, skip };
}
