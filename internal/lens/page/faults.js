// Break: each fault with its parameters, to be switched on and off.
import { allows } from './fold.js';
import { html, useState } from './ui.js';
import { Choice, Field, Refusal, Section, useAct } from './parts.js';

// The faults, and what each of them asks for. Those in once happen, and are over.
const faults = {
  cut: [], compact: [], expire: [], stop: [], delay: ['ms'], drop: [], token: [], fail: [],
  slow: ['ms', 'handler'], panic: ['handler'],
};
const once = ['compact', 'expire'];

// Chips are the faults that are on, each a button that ends it.
export function Chips({ view, run, words }) {
  const on = Object.keys(view.faults);
  return on.length > 0 && html`<ul class="chips" data-test="chips" aria-label=${words.faultsOn}>${on.map((name) => {
    const [, , state] = words.faults[name];
    return html`<li key=${name}>${allows(view, 'fault') ? html`<button type="button" class="chip" data-test=${'chip-' + name}
      onClick=${() => run('fault', { name, on: false })}>✂ ${state} · ${name === 'cut' ? words.mend : words.end()}</button>` : state}</li>`;
  })}</ul>`;
}

export function Faults({ view, lens, words }) {
  const { run, error } = useAct(lens);
  return html`<${Section} title=${words.break} name="break" acts=${['fault', 'mute']} view=${view} words=${words}>
    ${allows(view, 'fault') && html`<ul class="faults">${Object.keys(faults).map((name) => html`<${Fault} key=${name} name=${name} on=${view.faults[name]}
      run=${run} view=${view} words=${words} />`)}</ul>`}
    <${Refusal} error=${error} />
    ${allows(view, 'mute') && html`<p><button type="button" aria-pressed=${view.gate.muted} data-test="mute"
      onClick=${() => run('mute', { on: !view.gate.muted })}>${words.mute}</button> ${words.muteDoes}</p>`}
  <//>`;
}

function Fault({ name, on, run, view, words }) {
  const [ms, setMs] = useState('500');
  const [handler, setHandler] = useState('');
  const has = (field) => faults[name].includes(field);
  const [label, does] = words.faults[name];
  const set = (isOn) => run('fault', {
    name, on: isOn, ...(isOn && has('ms') && { ms: Number(ms) }), ...(isOn && has('handler') && { handler }),
  });
  const pressed = once.includes(name) ? undefined : !!on;
  return html`<li class="line">
    <button type="button" aria-pressed=${pressed} data-test=${'fault-' + name} onClick=${() => set(!on)}>${label}</button>
    <span class="does">${does}</span>
    ${has('ms') && html`<${Field} label="ms" type="number" min="0" max="600000" value=${ms} set=${setMs} disabled=${!!on}
      data-test=${`fault-${name}-ms`} />`}
    ${has('handler') && html`<${Choice} label=${words.handler} value=${handler} set=${setHandler} disabled=${!!on}
      choices=${[['', words.allHandlers], ...handlerNames(view).map((h) => [h, h])]} data-test=${`fault-${name}-handler`} />`}
  </li>`;
}

function handlerNames({ state }) {
  const handlers = Object.values(state?.informers ?? {}).flatMap((informer) => informer.handlers ?? []);
  return [...new Set(handlers.map((h) => h.Name))];
}
