// The house: a box for each layer, in the order in which a change passes them. A box is lit if the newest message brought
// an event of it, and a dot passes into it if the newest message brought an event at the boundary before it. A fault that
// is on leaves its mark on the arrow, or the box, where it acts.
import { html } from './ui.js';
import { allows, total } from './fold.js';
import { boxAt, boxes, wounds } from './places.js';
import { inside } from './boxes.js';
import { nextOf } from './gate.js';
import { CopyButton, Guard, useAct, useSlowly } from './parts.js';

export function House(props) {
  const { words } = props;
  return html`<section aria-labelledby="house-title"><h2 id="house-title" class="unseen">${words.house}</h2>
    <ol class="house" data-test="house">${boxes.map((box) => html`<${Box} key=${box.id} box=${box} ...${props} />`)}</ol></section>`;
}

// wounded lists the faults that are on and act at an arrow or in a box.
const wounded = (view, place) => Object.keys(view.faults).filter((name) =>
  Object.entries(place).some(([where, what]) => wounds[name]?.[where] === what));

function Box({ box, ...props }) {
  const { view, words } = props;
  const { name, does } = words.boxes[box.id];
  const lit = box.at.some((boundary) => view.moved[boundary] > 0);
  const hurt = wounded(view, { box: box.id });
  return html`<li class=${'box ' + box.id + (lit ? ' lit' : '') + (hurt.length > 0 ? ' hurt' : '')} data-test=${'box-' + box.id}
    data-lit=${lit} data-faults=${hurt.join(' ')}>
    <${Edge} from=${box.from} view=${view} />
    <h3>${name}${hurt.map((fault) => html` <span key=${fault} class="wound">✂ ${words.faults[fault][0]}</span>`)}</h3>
    <${Held} box=${box} ...${props} />
    <${Passed} box=${box} view=${view} words=${words} />
    <div class="content">
      ${view.state && html`<div class="inside"><${Guard} part=${inside[box.id]} ...${props} /></div>`}
      <${Counters} box=${box} view=${view} words=${words} />
      <details class="about"><summary>${words.about}</summary><p>${does}</p><${Code} code=${box.code} words=${words} /></details>
    </div>
  </li>`;
}

// Passed tells of the newest event of the chosen key in this box.
function Passed({ box, view, words }) {
  const event = view.chosen && view.journey.findLast((e) => box.at.includes(e.at));
  return event && html`<p class=${'passed' + (event.seq > view.before ? ' now' : '')} data-test=${'passed-' + box.id}
    data-seq=${event.seq}>${words.what(event)}${event.rv && ' @' + event.rv} <span>${words.moment(event.us / 1e6)}</span></p>`;
}

// Edge is the arrow into a box. Its dot is another element for each pulse, so that its animation begins anew.
function Edge({ from, view }) {
  const pulse = useSlowly(view, () => view.pulse[from]);
  const lit = view.moved[from] > 0;
  const hurt = wounded(view, { edge: from });
  return html`<span class=${'edge' + (lit ? ' lit' : '') + (hurt.length > 0 ? ' cut' : '')} data-test=${'edge-' + from}
    data-pulse=${pulse ?? 0} data-faults=${hurt.join(' ')} aria-hidden="true">${pulse && html`<i key=${pulse} class="dot" onAnimationEnd=${hide} />`}</span>`;
}

const hide = (event) => {
  event.target.hidden = true;
};

// Only an ingress controller that the page is attached to reports what it decided.
const isCounted = (view) => (boundary) => boundary !== 'decided' || total(view.counts.decided) > 0;

function Counters({ box, view, words }) {
  return html`<dl class="counters">${box.at.filter(isCounted(view)).map((boundary) => html`<div key=${boundary}><dt>${words.at[boundary]}</dt><dd
    data-test=${'count-' + boundary}>${words.number(total(view.counts[boundary]))}</dd></div>`)}</dl>`;
}

// Held lists the calls of observers that the gate holds back in this box.
function Held({ box, view, lens, words }) {
  const { run } = useAct(lens);
  const next = nextOf(view.gate.parked);
  const mine = view.gate.parked.filter((p) => boxAt[p.at] === box.id);
  return mine.length > 0 && html`<ul class="held" data-test=${'parked-' + box.id}>${mine.map((p) => html`<li key=${p.seq} class=${p === next ? 'next' : ''}
    data-next=${p === next}>${words.held(p)}${p === next && view.gate.parked.length > 1 && ' · ' + words.next} ${allows(view, 'step') && html`<button type="button" class="small"
      onClick=${() => run('step', { seq: p.seq })}>${words.letGo}</button>`}</li>`)}</ul>`;
}

// The button copies how the function begins, for the search of an editor.
function Code({ code, words }) {
  return html`<ul class="code">${code.map(([file, symbol]) => html`<li key=${symbol}>
    <code>${file}</code><br /><code class="symbol">${symbol.slice(0, -1)}</code> <${CopyButton} text=${symbol} words=${words} /></li>`)}</ul>`;
}
