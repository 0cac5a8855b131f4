// The replay: what happened is shown again, slowly, one step after the other. It is behind the boxes, which show what is.
import { move, pauseAfter, stepsOf } from './motion.js';
import { useEffect, useRef, useState } from './ui.js';

const mostWaiting = 80; // steps; where more wait, it is a stream, and nobody can follow a dot
const calmest = 40; // steps at once, below which a stream is dots again
const calmAfter = 1000; // milliseconds without an event, after which a stream is over
const nothing = { tokens: [], step: null };

// useReplay returns {tokens, step, waiting, streams, skip}: the dots, the step that is shown, how many events wait for their turn,
// whether all is too fast for dots, and what ends the waiting.
export function useReplay(lens, view, slowness) {
  const [shown, setShown] = useState(nothing);
  const [streams, setStreams] = useState(false);
  const queue = useRef([]);
  const timer = useRef(0);
  const speed = useRef(slowness);
  const still = view.gate.muted || streams;
  speed.current = slowness;

  const next = () => {
    const [step, following] = queue.current;
    if (!step) {
      timer.current = 0;
      return;
    }
    queue.current = queue.current.slice(1);
    setShown(({ tokens }) => ({ tokens: move(tokens, step), step }));
    timer.current = setTimeout(next, pauseAfter(step, following, speed.current));
  };
  const clear = () => {
    clearTimeout(timer.current);
    [queue.current, timer.current] = [[], 0];
  };
  const skip = () => {
    const steps = queue.current;
    clear();
    setShown(({ tokens, step }) => ({ tokens: steps.reduce(move, tokens), step: steps.at(-1) ?? step }));
  };
  useEffect(() => {
    let isStream = false;
    let calming = 0;
    const calm = () => {
      isStream = false;
      setStreams(false);
    };
    let first = true; // what a page finds when it is opened may be long over
    const take = (events, { sampled, gate }) => {
      const all = sampled ? [] : [...queue.current, ...stepsOf(events)];
      const tooMany = sampled || all.length > (isStream ? calmest : mostWaiting);
      isStream = tooMany && !first;
      setStreams(isStream);
      clearTimeout(calming);
      calming = isStream ? setTimeout(calm, calmAfter) : 0;
      first = false;
      if (tooMany || gate.muted) {
        clear();
        setShown(nothing);
        return;
      }
      queue.current = all;
      if (timer.current === 0 && all.length > 0) {
        next();
      }
    };
    const ends = [lens.events(take), lens.skips(skip)];
    return () => {
      ends.forEach((end) => end());
      clear();
      clearTimeout(calming);
    };
  }, []);
  useEffect(() => {
    clear();
    setShown(nothing);
  }, [view.world, view.gate.muted]);
  const waiting = still ? 0 : queue.current.flat().length;
  return { ...(still ? nothing : shown), waiting, streams, skip };
}
