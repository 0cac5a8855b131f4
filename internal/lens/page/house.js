// The house: a box for each layer, in the order in which a change passes them. Over it dots pass from box to box, in slow
// motion; where too much happens for that, the arrows count. A fault that is on leaves its mark on the arrow, or the box,
// where it acts.
import { html, useMemo, useRef } from './ui.js';
import { allows, total } from './fold.js';
import { boxAt, boxes, clientGo, wounds } from './places.js';
import { inside } from './boxes.js';
import { nextOf } from './gate.js';
import { after, ends, stepsOf } from './motion.js';
import { CopyButton, Guard, useAct, useSlowly } from './parts.js';
import { useRemembered } from './remember.js';
import { slownesses } from './replay.js';
import { Tokens } from './tokens.js';
import { Versions, unsent, useServer } from './versions.js';

const mostHeld = 2; // rows of what is held back in a box
const mostSteps = 200; // that the dots of a past moment come from

export function House(props) {
  const { view, live, moment, words } = props;
  const [slowness, setSlowness] = useRemembered('slowness', slownesses[0]);
  const isPast = moment !== null;
  const replay = isPast ? replayOf(view) : live.dots;
  const server = useServer(live, view.seq);
  const house = useRef(null);
  return html`<section aria-labelledby="house-title"><h2 id="house-title" class="unseen">${words.house}</h2>
    <div class=${'line caption' + (isPast ? ' past' : '')}><p data-test="caption" data-step=${replay.step?.[0].at ?? ''}
      >${isPast && html`<b data-test="past">${words.momentIs(view.seq, live.seq)}</b> `}${captionOf(replay, view, server, words)}
      ${isPast && !view.state && ' ' + words.pastUnknown}</p>
      ${!isPast && html`<label>${words.slowMotion} <select value=${slowness} data-test="slowness" onChange=${(e) => setSlowness(Number(e.target.value))}>
        ${slownesses.map((n) => html`<option key=${n} value=${n} selected=${n === slowness}>${words.slowness(n)}</option>`)}</select></label>
      ${replay.waiting > 0 && html`<span class="lag" role="status" data-test="lag">${words.lag(replay.waiting, view !== live)}</span>`}`}</div>
    <div class="stage" ref=${house}>
      <ol class="house" data-test="house">${boxes.map((box) => html`<${Box} key=${box.id} box=${box} replay=${replay} server=${server} ...${props} />`)}</ol>
      <${Tokens} tokens=${replay.tokens} view=${live} house=${house} choose=${props.choose} />
    </div>
    <${Versions} view=${view} server=${server} words=${words} /></section>`;
}

// replayOf is what the replay of a past moment has come to: its dots, and the step that was the last. One without a key moves no dot.
function replayOf({ events }) {
  const last = events.slice(-1);
  return { ...after({ tokens: [], step: null }, stepsOf(events.slice(-mostSteps))), ...(last[0] && !last[0].key && { step: last }), waiting: 0, streams: false };
}

// captionOf says what the dots show. If they have come to rest, and the server has what the informer has not heard of, it says that.
function captionOf({ step, streams, waiting }, view, server, words) {
  const [lacking] = waiting === 0 && view.chosen && !view.past ? unsent(view, server) : [];
  if (streams || !step) {
    return streams ? words.streams : words.nothingYet;
  }
  if (lacking) {
    return words.lacks(view.chosen, lacking.kind, lacking.rv);
  }
  const e = step.find(({ key }) => key === view.chosen) ?? step[0];
  const isList = ['Replace', 'ReplacedAll'].includes(e.action);
  return `${isList ? words.listOf(e.kind) : [e.kind || 'key', e.key].filter(Boolean).join(' ')}: ${words.steps[e.action] ?? words.steps[e.at]}`;
}

// isLit reports whether the step that is shown is in a box. One that ends a journey is not, once all has come to rest.
function isLit({ at }, { streams, step, waiting }, view) {
  const rests = waiting === 0 && !view.past && ends.includes(step?.[0].at);
  return at.some((boundary) => (streams ? view.moved[boundary] > 0 : !rests && step?.[0].at === boundary));
}

// wounded lists the faults that are on and act at an arrow or in a box.
const wounded = (view, place) => Object.keys(view.faults).filter((name) =>
  Object.entries(place).some(([where, what]) => wounds[name]?.[where] === what));

function Box({ box, replay, server, ...props }) {
  const { view, words } = props;
  const { name, is, does } = words.boxes[box.id];
  const about = useMemo(() => html`<details class="about" onKeyDown=${(e) => e.key === 'Escape' && e.currentTarget.removeAttribute('open')}><summary title=${words.about} aria-label=${`${name}: ${words.about}`}>?</summary><div><p>${does}</p>
    <${Code} code=${box.code} words=${words} /><${Theirs} theirs=${box.theirs} words=${words} /></div></details>`, [words]);
  const lit = isLit(box, replay, view);
  const hurt = wounded(view, { box: box.id });
  return html`<li class=${`box ${box.id} layer-${box.id}` + (lit ? ' lit' : '') + (hurt.length > 0 ? ' hurt' : '')} data-test=${'box-' + box.id}
    style=${{ '--layer': `var(--${box.id})` }} data-lit=${lit} data-faults=${hurt.join(' ')}>
    <${Edge} box=${box} view=${view} live=${props.live} replay=${replay} />
    <h3>${name}${is && html`<small>: ${is}</small>`}${hurt.map((fault) => html` <span key=${fault} class="wound">✂ ${words.faults[fault][2]}</span>`)}</h3>
    ${about}
    <${Held} box=${box} ...${props} />
    ${box.id === 'apiserver' && view.chosen && unsent(view, server).map(({ kind, rv }) => html`<p key=${kind} class="passed unsent"
      data-test=${'unsent-' + kind}>${words.unsent(kind, rv)}</p>`)}
    <${Passed} box=${box} view=${view} words=${words} replay=${replay} lit=${lit} />
    <div class="content">
      ${view.state && html`<div class="inside"><${Guard} part=${inside[box.id]} ...${props} /></div>`}
      <${Counters} box=${box} view=${view} words=${words} />
    </div>
    <div class="tray" data-tray=${box.id}></div>
  </li>`;
}

// Passed tells of the newest event of the chosen key in this box, up to the step that is replayed.
function Passed({ box, view, words, replay, lit }) {
  const newest = replay.waiting > 0 && replay.step ? replay.step.at(-1).seq : Infinity;
  const event = view.chosen && view.journey.findLast((e) => box.at.includes(e.at) && e.seq <= newest);
  const isNow = event && lit && replay.step?.some(({ seq }) => seq === event.seq);
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
  const held = view.gate.parked.filter((p) => boxAt[p.at] === box.id);
  const mine = [...held.filter((p) => p === next), ...held.filter((p) => p !== next)];
  return mine.length > 0 && html`<ul class="held" data-test=${'parked-' + box.id}>${mine.slice(0, mostHeld).map((p) => html`<li key=${p.seq} class=${p === next ? 'next' : ''}
    data-next=${p === next}>${words.held(p)}${p === next && view.gate.parked.length > 1 && ' · ' + words.next} ${allows(view, 'step') && !view.past && html`<button type="button" class="small"
      onClick=${() => run('step', { seq: p.seq })}>${words.letGo}</button>`}</li>`)}${mine.length > mostHeld && html`<li class="more">${words.more(mine.length - mostHeld)}</li>`}</ul>`;
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
