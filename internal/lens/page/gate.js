// Step: the gate that holds observers back, and the breakpoints that shut it.
import { allows } from './fold.js';
import { html, useState } from './ui.js';
import { Cannot, Choice, Field, Refusal, Section, useAct } from './parts.js';

// Gate is the toolbar that is always in reach.
export function Gate({ view, lens, words }) {
  const { run, error } = useAct(lens);
  const { mode, key, parked, hit } = view.gate;
  const paused = mode === 'step';
  const all = ['pause', 'step', 'run'].every((act) => allows(view, act));
  const hitListed = hit && view.gate.breakpoints.some((b) => b.id === hit.id); // it may have been removed
  return html`<section class="gate" aria-label=${words.step}>
    ${allows(view, 'pause') && html`<${Button} name="pause" off=${paused && !key} onClick=${() => run('pause')}>${words.pauseAll}<//>
      <${Button} name="pause-key" off=${!view.chosen || (paused && key === view.chosen)}
        onClick=${() => run('pause', { key: view.chosen })}>${words.pauseKey}<//>`}
    ${allows(view, 'step') && html`<${Button} name="step" off=${parked.length === 0}
      onClick=${() => run('step')}>${words.stepOne}<//>`}
    ${allows(view, 'run') && html`<${Button} name="run" off=${!paused && parked.length === 0}
      onClick=${() => run('run')}>${words.run}<//>`}
    <span data-test="mode" role="status">${paused ? words.isPaused(key, parked.length) : words.running}
      ${hit && ' ' + words.hit(hitListed ? hit.id : 0, hit.seq)}${view.gate.muted && ' ' + words.muted}</span>
    ${view.note && html`<p class="does" data-test="note">${words.notes[view.note]}</p>`}
    ${!all && html`<${Cannot} name="gate" words=${words} />`}
    <${Refusal} error=${error} />
  </section>`;
}

// Button keeps the focus while it is off, so that a keyboard can step again and again.
function Button({ name, off, onClick, children }) {
  return html`<button type="button" data-test=${name} aria-disabled=${!!off}
    onClick=${() => off || onClick()}>${children}</button>`;
}

// What each form of a breakpoint asks for, and the body of the act.
const forms = {
  popped: { fields: ['key'], body: ({ key }) => ({ at: 'popped', key }) },
  tombstone: { fields: [], body: () => ({ at: 'called', tombstone: true }) },
  over: { fields: ['n'], body: ({ n }) => ({ over: Number(n) }) },
  failed: { fields: [], body: () => ({ at: 'reconciled', failed: true }) },
  backingOff: { fields: [], body: () => ({ at: 'state', action: 'BackingOff' }) },
  event: { fields: ['at', 'key', 'action'], body: ({ at, key, action }) => ({ at, key, action }) },
};

export function Breakpoints({ view, lens, words }) {
  const { run, error } = useAct(lens);
  const [form, setForm] = useState('popped');
  const [values, setValues] = useState({ key: 'default/web', n: '3', at: 'decoded', action: '' });
  const set = (name) => (value) => setValues({ ...values, [name]: value });
  const add = (submit) => {
    submit.preventDefault();
    run('breakpoint', forms[form].body(values));
  };
  const has = (name) => forms[form].fields.includes(name);
  return html`<${Section} title=${words.breakpoints} name="breakpoints" acts=${['breakpoint']} view=${view} words=${words}>
    <form onSubmit=${add}>
      <${Choice} label=${words.stopWhen} value=${form} set=${setForm} data-test="breakpoint-form"
        choices=${Object.keys(forms).map((f) => [f, words.forms[f]])} />
      ${has('at') && html`<${Choice} label=${words.boundary} value=${values.at} set=${set('at')} data-test="breakpoint-at"
        choices=${Object.entries(words.at)} />`}
      ${has('key') && html`<${Field} label=${words.key} value=${values.key} set=${set('key')} data-test="breakpoint-key" />`}
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
