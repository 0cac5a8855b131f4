// The time line: one slider over all that was seen, with marks, and the way back to now.
import { html, useMemo } from './ui.js';
import { marksOf } from './past.js';
import { useSlowly } from './parts.js';

const signs = { fault: '✂', relist: '≡', tombstone: '✝', conflict: '≠', panic: '!', failed: '×' };

// Timeline shows the whole of live, and moves the page to a moment of it. moment is null for now.
export function Timeline({ live, moment, history, goTo, words }) {
  const first = live.events[0]?.seq ?? 0;
  const last = live.seq;
  const at = moment ?? last;
  const go = (seq) => goTo(seq >= last ? null : seq); // the end of the line is now, which goes on
  const marks = useSlowly(live, () => html`<${Marks} marks=${marksOf(history, live.events)} first=${first} last=${last} goTo=${goTo} words=${words} />`);
  const step = (by) => go(neighbour(live.events, at, by));
  return html`<div class=${'line timeline' + (moment === null ? '' : ' past')} role="group" aria-label=${words.timeline} data-test="timeline">
    <button type="button" class="small" aria-label=${words.stepBack} data-test="step-back" onClick=${() => step(-1)}>◀</button>
    <button type="button" class="small" aria-label=${words.stepOn} data-test="step-on" aria-disabled=${moment === null}
      onClick=${() => moment === null || step(1)}>▶</button>
    <div class="track">${marks}<input type="range" min=${first} max=${last} value=${at} data-test="moment" aria-label=${words.timeline}
      aria-valuetext=${words.momentIs(at, last)} onInput=${(e) => go(Number(e.target.value))} /></div>
    <button type="button" aria-disabled=${moment === null} data-test="now" onClick=${() => goTo(null)}>${words.now}</button>
  </div>`;
}

// neighbour is the event before or after one. Past the newest there is no end.
function neighbour(events, seq, by) {
  return by < 0 ? events.findLast((e) => e.seq < seq)?.seq ?? seq : events.find((e) => e.seq > seq)?.seq ?? Infinity;
}

function Marks({ marks, first, last, goTo, words }) {
  const places = useMemo(() => marks.slice(-100), [marks]);
  const left = (seq) => `${(100 * (seq - first)) / Math.max(1, last - first)}%`;
  return places.map(({ seq, what, name }) => html`<span key=${what + seq + name} class=${'mark-' + what} style=${{ left: left(seq) }}
    title=${words.marks[what] + ' ' + name} data-test=${'mark-' + what} data-seq=${seq} onClick=${() => goTo(seq)}
    >${signs[what]}</span>`);
}
