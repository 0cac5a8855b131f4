// Step: the gate that holds observers back, and the breakpoints that shut it.
import { allows, kinds } from './fold.js';
import { boxAt } from './places.js';
import { html, useState } from './ui.js';
import { Chips } from './faults.js';
import { Choice, Field, Refusal, Section, useAct } from './parts.js';
import { useShortcuts } from './shortcuts.js';

const mostWaiting = 3; // that the bar names

// nextOf is what the next step lets go. It goes on with what was changed or let go last. Else it is the oldest that is held,
// and those at the server last.
export function nextOf({ gate: { parked }, acted }) {
  const mine = parked.filter(({ key }) => key && key === acted?.key);
  return mine.find(({ kind = '' }) => kind === (acted.kind ?? '')) ?? mine.at(-1) ?? parked.find((p) => p.at !== 'sent') ?? parked[0];
}

// Gate is the bar that is always in reach. It says loudly what waits where, and what is broken.
export function Gate(props) {
  const { view, lens, words } = props;
  const { run, error } = useAct(lens);
  const [isOnly, setOnly] = useState(false);
  const { mode, key, parked } = view.gate;
  const paused = mode === 'step';
  const wanted = isOnly ? view.chosen : ''; // the key that is to be paused, or all
  const step = () => run('step', { seq: nextOf(lens.view())?.seq });
  useShortcuts({ step: () => allows(view, 'step') && parked.length > 0 && step() });
  return html`<section class=${'gate' + (paused ? ' paused' : '')} aria-label=${words.step}>
    ${allows(view, 'pause') && html`<${Button} name="pause" off=${paused && (key ?? '') === wanted} onClick=${() => run('pause', { key: wanted })}>${words.pause}<//>
      <label class="only"><input type="checkbox" disabled=${!view.chosen} checked=${isOnly && !!view.chosen} data-test="pause-only" onChange=${(e) => setOnly(e.target.checked)} /> ${words.pauseOnly}</label>`}
    ${allows(view, 'step') && html`<${Button} name="step" off=${parked.length === 0}
      onClick=${step}>${words.stepOne}<//>`}
    ${allows(view, 'run') && html`<${Button} name="run" off=${!paused && parked.length === 0}
      onClick=${() => run('run')}>${words.run}<//>`}
    <span data-test="mode" role="status"><${Mode} view=${view} words=${words} /></span>
    <${Chips} ...${props} run=${run} />
    ${view.note && html`<p class="does" data-test="note">${words.notes[view.note]}</p>`}
    <${Refusal} error=${error} />
  </section>`;
}

// Mode says whether it runs, and if not, what waits where and why.
function Mode({ view, words }) {
  const { mode, key, parked, hit, breakpoints, muted } = view.gate;
  const listed = hit && breakpoints.some((b) => b.id === hit.id); // it may have been removed
  const next = nextOf(view);
  const name = (p) => `${p.kind || 'key'} ${p.key ?? ''} · ${words.boxes[boxAt[p.at]].name}`;
  const sorted = next ? [next, ...parked.filter((p) => p !== next)] : [];
  const waiting = sorted.slice(0, mostWaiting).map((p) => name(p) + (p === next && parked.length > 1 ? ` (${words.next})` : ''));
  const said = [
    mode === 'step' ? words.isPaused(key, parked.length) : words.running,
    mode === 'step' && view.acted?.at && words.wasLetGo(name(view.acted), view.acted.seq),
    hit && words.hit(listed ? hit.id : 0, hit.seq, parked.find((p) => p.seq === hit.seq)?.kind ?? ''),
    waiting.length > 0 && words.waits(waiting, parked.length - waiting.length),
    mode === 'step' && parked.length === 0 && words.waitsForNothing,
    muted && words.muted,
  ];
  return said.filter(Boolean).join(' ');
}

// Button keeps the focus while it is off, so that a keyboard can step again and again.
function Button({ name, off, onClick, children }) {
  return html`<button type="button" data-test=${name} aria-disabled=${!!off}
    onClick=${() => off || onClick()}>${children}</button>`;
}

// What each form of a breakpoint asks for, and the body of the act.
const forms = {
  popped: { fields: ['key', 'kind'], body: ({ key, kind }) => ({ at: 'popped', key, kind }) },
  tombstone: { fields: [], body: () => ({ at: 'called', tombstone: true }) },
  over: { fields: ['n'], body: ({ n }) => ({ over: Number(n) }) },
  failed: { fields: [], body: () => ({ at: 'reconciled', failed: true }) },
  backingOff: { fields: [], body: () => ({ at: 'state', action: 'BackingOff' }) },
  event: { fields: ['at', 'key', 'kind', 'action'], body: ({ at, key, kind, action }) => ({ at, key, kind, action }) },
};

export function Breakpoints({ view, lens, words }) {
  const { run, error } = useAct(lens);
  const [form, setForm] = useState('popped');
  const [values, setValues] = useState({ key: 'default/web', n: '3', at: 'decoded', action: '', kind: null });
  const set = (name) => (value) => setValues({ ...values, [name]: value });
  // A Service and its Ingress have the same key, and popped are both.
  const kind = values.kind ?? (form === 'popped' ? kinds(view)[0] ?? '' : '');
  const add = (submit) => {
    submit.preventDefault();
    run('breakpoint', forms[form].body({ ...values, kind }));
  };
  const has = (name) => forms[form].fields.includes(name);
  return html`<${Section} title=${words.breakpoints} name="breakpoints" acts=${['breakpoint']} view=${view} words=${words}>
    <form onSubmit=${add}>
      <${Choice} label=${words.stopWhen} value=${form} set=${setForm} data-test="breakpoint-form"
        choices=${Object.keys(forms).map((f) => [f, words.forms[f]])} />
      ${has('at') && html`<${Choice} label=${words.boundary} value=${values.at} set=${set('at')} data-test="breakpoint-at"
        choices=${Object.entries(words.at)} />`}
      ${has('key') && html`<${Field} label=${words.key} value=${values.key} set=${set('key')} data-test="breakpoint-key" />`}
      ${has('kind') && html`<${Choice} label=${words.kind} value=${kind} set=${set('kind')} data-test="breakpoint-kind"
        choices=${[['', words.anyKind], ...kinds(view).map((kind) => [kind, kind])]} />`}
      ${has('action') && html`<${Field} label=${words.actionIs} value=${values.action} set=${set('action')} />`}
      ${has('n') && html`<${Field} label=${words.n} type="number" min="1" value=${values.n} set=${set('n')}
        data-test="breakpoint-n" />`}
      <button data-test="breakpoint-add">${words.add}</button>
    </form>
    <${Refusal} error=${error} />
    <ul class="rows" data-test="breakpoint-list">${view.gate.breakpoints.map((b) => html`
      <li key=${b.id} class=${view.gate.hit?.id === b.id ? 'hit' : ''}>${b.id}: <code>${describe(b)}</code>
        ${' '}<button type="button" class="small" aria-label=${words.removeBreakpoint(b.id)}
          onClick=${() => run('clear', { id: b.id })}>${words.remove}</button></li>`)}
    </ul>
  <//>`;
}

const describe = ({ id, ...conditions }) => Object.entries(conditions).map(([name, value]) => `${name} ${value}`).join(', ');
