// The reflector's state machine: its states, the ways between them that were taken, and where each informer is.
import { kinds } from './fold.js';
import { html, useMemo } from './ui.js';

// Where each state stands, in the middle of its name.
const places = {
  Idle: [18, 9], ListingStreaming: [118, 9], ListingPaged: [118, 25], Stopped: [24, 25], Connecting: [36, 43], Watching: [136, 43],
  BackingOff: [86, 61],
};

// taken lists the ways between states, as the events tell them: {from, to, kind}, the newest of each kind marked as last.
export function taken(events) {
  const ways = new Map();
  const now = {};
  for (const { kind, action } of events.filter(({ at }) => at === 'state')) {
    if (kind in now && now[kind].to !== action) {
      now[kind] = { from: now[kind].to, to: action, kind };
      ways.set(`${now[kind].from} ${action}`, now[kind]);
    } else {
      now[kind] = { to: action, kind };
    }
  }
  const lasts = Object.values(now);
  return [...ways.values()].map((way) => ({ ...way, last: lasts.some(({ from, to }) => from === way.from && to === way.to) }));
}

export function StateMachine({ view, all, words }) {
  const order = kinds(view);
  const label = all.map(([, { kind, state }]) => `${kind}: ${state}`).join(', ');
  const newest = view.events.findLast(({ at }) => at === 'state')?.seq; // between two of these the picture is the same
  return useMemo(() => html`<svg class="machine" viewBox="0 0 184 66" role="img" aria-label=${words.machine(label)} data-test="machine">
    ${taken(view.events).map(({ from, to, last }) => html`<${Way} key=${from + to} from=${places[from]} to=${places[to]} last=${last} />`)}
    ${Object.entries(places).map(([state, [x, y]]) => {
      const here = all.filter(([, informer]) => informer.state === state);
      return html`<g key=${state} class=${here.length > 0 ? 'now' : ''}><text x=${x} y=${y + 3}>${state}${state === 'ListingStreaming' && html`<title>${words.beginsWithList}</title>`}</text>
        ${here.map(([name, { kind }], i) => html`<circle key=${name} class=${'color-' + order.indexOf(kind)} cx=${x + (i - (here.length - 1) / 2) * 9}
          cy=${y - 8} r="3.5" data-test=${'state-' + name} data-state=${state}><title>${kind}</title></circle>`)}</g>`;
    })}
  </svg>`, [label, newest, order.join(), words]);
}

// Way is an arrow between two states. It ends where the name begins.
function Way({ from, to, last }) {
  if (!from || !to) {
    return null;
  }
  const [x1, y1] = from;
  const [x2, y2] = to;
  const length = Math.hypot(x2 - x1, y2 - y1);
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [x, y] = [x2 - dx * 28, y2 - dy * 8];
  const head = `${x},${y} ${x - dx * 6 - dy * 3},${y - dy * 6 + dx * 3} ${x - dx * 6 + dy * 3},${y - dy * 6 - dx * 3}`;
  return html`<g class=${'taken' + (last ? ' last' : '')}><line x1=${x1 + dx * 24} y1=${y1 + dy * 5} x2=${x} y2=${y} /><polygon points=${head} /></g>`;
}
