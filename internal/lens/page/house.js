// The house: a box for each layer, in the order in which a change passes them. Over it dots pass from box to box, in slow
// motion; where too much happens for that, the arrows count. A fault that is on leaves its mark on the arrow, or the box,
// where it acts.
import { html, useMemo, useRef } from './ui.js';
import { allows, total } from './fold.js';
import { boxAt, boxes, clientGo, wounds } from './places.js';
import { inside } from './boxes.js';
import { nextOf } from './gate.js';
import { after, stepsOf } from './motion.js';
import { viewAt } from './past.js';
import { CopyButton, Guard, useAct, useSlowly } from './parts.js';
import { useRemembered } from './remember.js';
import { useReplay } from './replay.js';
import { Tokens } from './tokens.js';
import { Versions, unsent, useServer } from './versions.js';

const slownesses = [1000, 100, 1]; // 1 is no slow motion
const mostSteps = 200; // that the dots of a past moment come from

export function House(props) {
  const { view, live, lens, words } = props;
  const [slowness, setSlowness] = useRemembered('slowness', slownesses[0]);
  const now = useReplay(lens, live, slowness);
  const replay = view.past ? replayOf(view) : now;
  const then = told(props, now);
  const answer = useServer(view);
  const server = then === view ? answer : null; // of the dots' moment it is not known
  const house = useRef(null);
  return html`<section aria-labelledby="house-title"><h2 id="house-title" class="unseen">${words.house}</h2>
    <div class=${'line caption' + (view.past ? ' past' : '')}><p data-test="caption" data-step=${replay.step?.[0].at ?? ''}
      >${view.past && html`<b data-test="past">${words.momentIs(view.seq, live.seq)}</b> `}${captionOf(replay, words)}
      ${view.past && !view.state && ' ' + words.pastUnknown}</p>
      ${!view.past && html`<label>${words.slowMotion} <select value=${slowness} data-test="slowness" onChange=${(e) => setSlowness(Number(e.target.value))}>
        ${slownesses.map((n) => html`<option key=${n} value=${n} selected=${n === slowness}>${words.slowness(n)}</option>`)}</select></label>
      ${replay.waiting > 0 && html`<span class="lag" role="status" data-test="lag">${words.lag(replay.waiting, then !== view)}</span>`}
      <button type="button" class="small" disabled=${replay.waiting === 0} data-test="skip" onClick=${replay.skip}>${words.toNow}</button>`}</div>
    <div class="stage" ref=${house}>
      <ol class="house" data-test="house">${boxes.map((box) => html`<${Box} key=${box.id} box=${box} replay=${replay} server=${server} ...${props} view=${then} />`)}</ol>
      <${Tokens} tokens=${replay.tokens} view=${live} house=${house} choose=${props.choose} />
    </div>
    <${Versions} view=${then} server=${server} words=${words} /></section>`;
}

// replayOf is what the replay of a past moment has come to: its dots, and the step that was the last.
function replayOf({ events }) {
  return { ...after({ tokens: [], step: null }, stepsOf(events.slice(-mostSteps))), waiting: 0, streams: false };
}

// told is the view that the boxes show. In the story and in a lesson it is of the dots' moment, unless the gate holds something.
function told({ view, history }, { step, waiting, streams }) {
  const isTold = (view.isTold || view.path.startsWith('/lesson/')) && !view.past && view.gate.parked.length === 0;
  const then = isTold && !streams && step && waiting > 0 && viewAt(history, view, step.at(-1).seq);
  return then && then.state ? { ...then, faults: view.faults } : view;
}

function captionOf({ step, streams }, words) {
  if (streams) {
    return words.streams;
  }
  return step ? `${step[0].kind || 'key'} ${step[0].key}: ${words.steps[step[0].action === 'panic' ? 'panic' : step[0].at]}` : words.nothingYet;
}

// wounded lists the faults that are on and act at an arrow or in a box.
const wounded = (view, place) => Object.keys(view.faults).filter((name) =>
  Object.entries(place).some(([where, what]) => wounds[name]?.[where] === what));

function Box({ box, replay, server, ...props }) {
  const { view, words } = props;
  const { name, does } = words.boxes[box.id];
  const about = useMemo(() => html`<details class="about"><summary>${words.about}</summary><p>${does}</p>
    <${Code} code=${box.code} words=${words} /><${Theirs} theirs=${box.theirs} words=${words} /></details>`, [words]);
  const lit = box.at.some((boundary) => (replay.streams ? view.moved[boundary] > 0 : replay.step?.[0].at === boundary));
  const hurt = wounded(view, { box: box.id });
  return html`<li class=${`box ${box.id} layer-${box.id}` + (lit ? ' lit' : '') + (hurt.length > 0 ? ' hurt' : '')} data-test=${'box-' + box.id}
    data-lit=${lit} data-faults=${hurt.join(' ')}>
    <${Edge} box=${box} view=${view} live=${props.live} replay=${replay} />
    <h3>${name}${hurt.map((fault) => html` <span key=${fault} class="wound">✂ ${words.faults[fault][2]}</span>`)}</h3>
    <${Held} box=${box} ...${props} />
    ${box.id === 'apiserver' && view.chosen && unsent(view, server).map(({ kind, rv }) => html`<p key=${kind} class="passed unsent"
      data-test=${'unsent-' + kind}>${words.unsent(kind, rv)}</p>`)}
    <${Passed} box=${box} view=${view} words=${words} replay=${replay} />
    <div class="content">
      ${view.state && html`<div class="inside"><${Guard} part=${inside[box.id]} ...${props} /></div>`}
      <${Counters} box=${box} view=${view} words=${words} />
      ${about}
    </div>
    <div class="tray" data-tray=${box.id}></div>
  </li>`;
}

// Passed tells of the newest event of the chosen key in this box, up to the step that is replayed.
function Passed({ box, view, words, replay }) {
  const newest = replay.waiting > 0 && replay.step ? replay.step.at(-1).seq : Infinity;
  const event = view.chosen && view.journey.findLast((e) => box.at.includes(e.at) && e.seq <= newest);
  const isNow = event && replay.step?.some(({ seq }) => seq === event.seq);
  return event && html`<p class=${'passed' + (isNow ? ' now' : '')} data-test=${'passed-' + box.id} data-seq=${event.seq}
    title=${words.moment(event.us / 1e6)}>${words.what(event)}${event.rv && ' @' + event.rv}</p>`;
}

// comes is the box that an event comes into. What is sent comes from the controller only if the controller has written it.
const stays = ['taken', 'forgotten', 'putoff', 'returned'];
function comes({ at, kind, rv }, { events }) {
  const isWrite = (e) => e.at === 'written' && e.kind === kind && e.rv === rv;
  return stays.includes(at) || (at === 'sent' && !events.some(isWrite)) ? '' : boxAt[at];
}

// Edge is the arrow into a box. In a stream it counts what passed with the newest message.
function Edge({ box, view, live, replay }) {
  const { from } = box;
  const pulse = useSlowly(view, () => view.pulse[from]);
  const n = replay.streams ? view.moved[from] ?? 0 : 0;
  const lit = n > 0 || (!replay.streams && !!replay.step && comes(replay.step[0], live) === box.id);
  const hurt = wounded(view, { edge: from });
  return html`<span class=${'edge' + (lit ? ' lit' : '') + (hurt.length > 0 ? ' cut' : '')} data-test=${'edge-' + from}
    data-pulse=${pulse ?? 0} data-faults=${hurt.join(' ')} aria-hidden="true"></span>
    ${n > 0 && html`<span class="passing" data-test=${'passing-' + from} aria-hidden="true">${'×' + n}</span>`}`;
}

// Only an ingress controller that the page is attached to reports what it decided.
const isCounted = (view) => (boundary) => boundary !== 'decided' || total(view.counts.decided) > 0;

function Counters({ box, view, words }) {
  return html`<dl class="counters">${box.at.filter(isCounted(view)).map((boundary) => html`<div key=${boundary}><dt>${words.at[boundary]}</dt><dd
    data-test=${'count-' + boundary}>${words.number(total(view.counts[boundary]))}</dd></div>`)}</dl>`;
}

// Held lists the calls of observers that the gate holds back in this box.
function Held({ box, view, lens, words }) {
  const { run } = useAct(lens);
  const next = nextOf(view);
  const mine = view.gate.parked.filter((p) => boxAt[p.at] === box.id);
  return mine.length > 0 && html`<ul class="held" data-test=${'parked-' + box.id}>${mine.map((p) => html`<li key=${p.seq} class=${p === next ? 'next' : ''}
    data-next=${p === next}>${words.held(p)}${p === next && view.gate.parked.length > 1 && ' · ' + words.next} ${allows(view, 'step') && !view.past && html`<button type="button" class="small"
      onClick=${() => run('step', { seq: p.seq })}>${words.letGo}</button>`}</li>`)}</ul>`;
}

// The button copies how the function begins, for the search of an editor.
function Code({ code, words }) {
  return html`<ul class="code">${code.map(([file, symbol]) => html`<li key=${symbol}>
    <code>${file}</code><br /><code class="symbol">${symbol.slice(0, -1)}</code> <${CopyButton} text=${symbol} words=${words} /></li>`)}</ul>`;
}

// Theirs leads to the functions of client-go that do the same work.
function Theirs({ theirs, words }) {
  const at = (file, line) => `https://github.com/kubernetes/client-go/blob/${clientGo}/${file}#L${line}`;
  return theirs.length > 0 && html`<p>${words.inClientGo(clientGo)}</p><ul class="code" data-test="theirs">${theirs.map(([file, symbol, line]) => html`<li key=${symbol}>
    <a href=${at(file, line)} target="_blank" rel="noreferrer"><code>${file}:${line}</code></a><br /><code class="symbol">${symbol}</code></li>`)}</ul>`;
}
