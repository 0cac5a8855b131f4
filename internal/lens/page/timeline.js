// The time line: one slider over all that was seen, with marks, steps to the next event, box and mark, a slow replay, and
// the way to now.
import { boxAt, signs } from './places.js';
import { html, useEffect, useMemo, useState } from './ui.js';
import { marksOf, momentIn } from './past.js';
import { pauseAfter } from './motion.js';
import { useSlowly } from './parts.js';
import { Share } from './share.js';
import { useShortcuts } from './shortcuts.js';

const quarter = 4; // times as long as it took

// marksIn lists what stands out, with the moment that decides the lesson.
export function marksIn({ world, events, decisive }, history) {
  const mine = decisive?.world === world ? [{ seq: decisive.seq, what: 'decisive', name: '' }] : [];
  return [...marksOf(history, events), ...mine].sort((a, b) => a.seq - b.seq);
}

// Timeline shows the whole of live, and moves the page to a moment of it. moment is null for now.
export function Timeline(props) {
  const { live, moment, history, goTo, lens, words } = props;
  const first = live.events[0]?.seq ?? 0;
  const last = live.seq;
  const at = moment ?? last;
  const [plays, setPlays] = useState(false);
  const go = (seq) => goTo(seq >= last ? null : seq); // the end of the line is now, which goes on
  const leave = (seq) => {
    setPlays(false);
    go(seq);
  };
  // What is gone along: the chosen object's events, or all.
  const path = live.chosen ? live.journey.filter((e) => e.seq >= first) : live.events;
  const isPlaying = plays && moment !== null;
  useEffect(() => {
    const next = path.find((e) => e.seq > at);
    if (!isPlaying) {
      return undefined;
    }
    if (!next) {
      setPlays(false);
      return undefined;
    }
    const play = () => {
      setPlays(next.seq < last);
      go(next.seq);
    };
    const here = path.findLast((e) => e.seq <= at) ?? next;
    const timer = setTimeout(play, pauseAfter([here], [next], quarter));
    return () => clearTimeout(timer);
  }, [isPlaying, at]);
  const play = () => {
    if (moment === null && path.length > 0) {
      go(path[0].seq);
    }
    setPlays(!isPlaying);
  };
  // A step begins where the one before has led to, which may not be drawn yet.
  const step = (to, by, along) => {
    const from = momentIn(lens.view());
    if (from !== null || by < 0) {
      leave(to(along(), from ?? last, by));
    }
  };
  const marksNow = () => marksIn(live, history);
  const moves = {
    markBack: () => step(neighbour, -1, marksNow), boxBack: () => step(otherBox, -1, () => path), stepBack: () => step(neighbour, -1, () => live.events),
    markOn: () => step(neighbour, 1, marksNow), boxOn: () => step(otherBox, 1, () => path), stepOn: () => step(neighbour, 1, () => live.events),
    play, now: () => (moment === null ? lens.skip() : leave(last)),
  };
  useShortcuts(moves);
  const marks = useSlowly(live, () => html`<${Marks} marks=${marksIn(live, history)} first=${first} last=${last} at=${moment} goTo=${leave} words=${words} />`);
  const here = useMemo(() => (moment === null ? [] : marksIn(live, history).filter(({ seq }) => seq === moment)), [moment, live.events]);
  const button = (name, test, sign, isOff) => html`<button type="button" class="small" aria-label=${words.moves[name]} title=${words.moves[name]}
    aria-disabled=${isOff} data-test=${test} onClick=${moves[name]}>${sign}</button>`;
  const isNow = moment === null;
  const isShown = isNow && live.dots.waiting === 0; // by the dots, too
  return html`<div class=${'line timeline' + (isNow ? '' : ' past')} role="group" aria-label=${words.timeline} data-test="timeline">
    ${button('markBack', 'mark-back', '⇤')}${button('boxBack', 'box-back', '«')}${button('stepBack', 'step-back', '‹')}
    <button type="button" class="small" aria-label=${words.moves.play} title=${words.moves.play} aria-pressed=${isPlaying} data-test="play-slowly-on"
      onClick=${play}>${isPlaying ? '■' : '¼×'}</button>
    ${button('stepOn', 'step-on', '›', isNow)}${button('boxOn', 'box-on', '»', isNow)}${button('markOn', 'mark-on', '⇥', isNow)}
    <div class="track">${marks}<input type="range" min=${first} max=${last} value=${at} data-test="moment" aria-label=${words.timeline}
      aria-valuetext=${words.momentIs(at, last)} onInput=${(e) => leave(Number(e.target.value))} /></div>
    <span class="unseen" role="status" data-test="mark-is">${here.map((mark) => nameOf(mark, words)).join(', ')}</span>
    <button type="button" aria-disabled=${isShown} data-test="now" title=${words.moves.now} onClick=${moves.now}>${words.now}</button>
    <${Share} ...${props} />
  </div>`;
}

// neighbour is the event, or the mark, before or after a moment. Past the newest there is no end.
function neighbour(events, seq, by) {
  return by < 0 ? events.findLast((e) => e.seq < seq)?.seq ?? seq : events.find((e) => e.seq > seq)?.seq ?? Infinity;
}

// otherBox is the event before or after a moment that is in another box.
export function otherBox(path, seq, by) {
  const here = boxAt[path.findLast((e) => e.seq <= seq)?.at];
  return neighbour(path.filter((e) => boxAt[e.at] !== here), seq, by);
}

const nameOf = ({ what, name }, words) => [words.marks[what], name].filter(Boolean).join(': ');

function Marks({ marks, first, last, at, goTo, words }) {
  const left = (seq) => `${(100 * (seq - first)) / Math.max(1, last - first)}%`;
  return marks.slice(-100).map(({ seq, what, name }) => html`<span key=${what + seq + name} class=${`mark-${what}` + (seq === at ? ' here' : '')}
    style=${{ left: left(seq) }} title=${nameOf({ what, name }, words)} data-test=${'mark-' + what} data-seq=${seq} onClick=${() => goTo(seq)}
    >${signs[what]}</span>`);
}
