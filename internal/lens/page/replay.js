// The replay: what happened is shown again, slowly, one step after the other. It is behind the boxes, which show what is. Where too much
// waits, the dots go at once to where the last step has brought them.
import { after, pauseAfter, stepsOf } from './motion.js';
import { useEffect, useMemo, useRef, useState } from './ui.js';

const mostWaiting = 80; // steps; where more wait, it is a stream, and nobody can follow a dot
const calmest = 40; // steps at once, below which a stream is dots again
const calmAfter = 1000; // milliseconds without an event, after which a stream is over
const nothing = { tokens: [], step: null };

// replayer shows what it takes, slowly: show({tokens, step}) with each step, and stream(is) when all is too fast for dots, and when it is
// not any more. speed() is that of pauseAfter.
export function replayer({ show, stream, speed }) {
  let queue = [];
  let timer = 0;
  let calming = 0;
  let world = 0; // whose dots these are
  let now = nothing; // what the last step that was taken out of the queue has led to
  let isStream = false;
  let first = true; // what a page finds when it is opened may be long over

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
    show(now);
    timer = setTimeout(next, pauseAfter(step, following, speed()));
  };
  const forget = () => {
    clear();
    now = nothing;
    show(now);
  };
  const begin = (number) => {
    if (world !== number) {
      world = number;
      forget();
    }
  };
  const skip = () => {
    now = after(now, queue);
    clear();
    show(now);
  };
  const calm = () => {
    isStream = false;
    stream(false);
    show(now);
  };
  const take = (events, view) => {
    begin(view.world);
    if (view.gate.muted) {
      forget();
      return;
    }
    queue = [...queue, ...stepsOf(events)];
    const tooMany = view.sampled || queue.length > (isStream ? calmest : mostWaiting);
    isStream = tooMany && !first;
    stream(isStream);
    first = false;
    clearTimeout(calming);
    if (isStream) { // nobody sees the dots meanwhile, so that nothing is drawn for them
      now = after(now, queue);
      clear();
      calming = setTimeout(calm, calmAfter);
    } else if (tooMany) {
      skip();
    } else if (timer === 0 && queue.length > 0) {
      next();
    }
  };
  const end = () => {
    clear();
    clearTimeout(calming);
  };
  return { take, skip, begin, forget, end, waiting: () => queue.flat().length };
}

// useReplay returns {tokens, step, waiting, streams, skip}: the dots, the step that is shown, how many events wait for their turn,
// whether all is too fast for dots, and what ends the waiting.
export function useReplay(lens, view, slowness) {
  const [shown, show] = useState(nothing);
  const [streams, stream] = useState(false);
  const speed = useRef(slowness);
  speed.current = slowness;
  const replay = useMemo(() => replayer({ show, stream, speed: () => speed.current }), []);
  const still = view.gate.muted || streams;

  useEffect(() => {
    const ends = [lens.events(replay.take), lens.skips(replay.skip), replay.end];
    return () => ends.forEach((end) => end());
  }, []);
  useEffect(() => replay.begin(view.world), [view.world]);
  useEffect(replay.forget, [view.gate.muted]);
  const waiting = still ? 0 : replay.waiting();
  return { ...(still ? nothing : shown), waiting, streams, skip: replay.skip };
}
