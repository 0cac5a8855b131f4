// Small components that the others are made of.
import { allows } from './fold.js';
import { useRemembered } from './remember.js';
import { Component, html, useEffect, useRef, useState } from './ui.js';

// Key shows a key, and chooses it.
export function Key({ name, view, choose }) {
  const isChosen = name === view.chosen;
  return html`<button type="button" class="key" data-key=${name} aria-pressed=${isChosen}
    onClick=${() => choose(isChosen ? '' : name)}>${name}</button>`;
}

// Keys shows the first of some keys, and how many there are in all.
export function Keys({ keys, most = 2, n = keys.length, words, ...rest }) {
  if (n === 0) {
    return html`<span class="none">${words.none}</span>`;
  }
  const shown = keys.slice(0, most);
  return html`${shown.map((key) => html`<${Key} key=${key} name=${key} ...${rest} /> `)}
    ${n > shown.length && html`<span class="more">${words.more(n - shown.length)}</span>`}`;
}

// CopyButton copies a text, and says so. A long text has a name.
export function CopyButton({ text, name = text, words }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text).then(() => setCopied(true), () => setCopied(false));
  };
  return html`<button type="button" class="small" aria-label=${words.copyOf(name)} onClick=${copy}
    >${copied ? words.copied : words.copy}</button>`;
}

// Countdown shows the time until a moment of the world, as far as the newest message tells the world's time. The ring shows
// how much is left of the whole wait; it stays full where that is not known.
export function Countdown({ due, whole, view, words }) {
  const [, again] = useState(0);
  const since = view.past ? 0 : (performance.now() - view.at) / 1e3;
  const left = (due - view.us) / 1e6 - since;
  useEffect(() => {
    const timer = left > 0 && view.connected && !view.past ? setTimeout(() => again((n) => n + 1), 100) : 0;
    return () => clearTimeout(timer);
  });
  const part = Math.min(1, Math.max(0, left) / (whole || Math.max(0, left) || 1));
  return html`<span class="countdown" data-left=${part.toFixed(2)}><svg class="ring" viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="8" />
    <circle cx="10" cy="10" r="8" pathLength="1" stroke-dasharray=${`${part} 1`} /></svg>${words.seconds(Math.max(0, left))}</span>`;
}

// useAct returns run(name, body), which does something and keeps the server's refusal in error and its answer in done,
// and attempt(f), which does so with what f asks of the server. With a world they are kept until the next world begins. What is
// replayed slowly is skipped before run does something, so that the picture shows what this does.
export function useAct(lens, world) {
  const nothing = { error: null, done: null, busy: false, world };
  const [state, setState] = useState(nothing);
  const attempt = async (f) => {
    setState({ ...nothing, busy: true });
    try {
      const done = await f();
      setState({ ...nothing, done });
      return done;
    } catch (error) {
      setState({ ...nothing, error });
      return null;
    }
  };
  const run = (name, body) => {
    lens.skip();
    return attempt(() => lens.act(name, body));
  };
  return { ...(state.world === world ? state : nothing), attempt, run };
}

// Guard draws a part of the page. An error of the part is shown in its place, and the other parts go on. With deps the
// part is drawn anew only if one of them has changed, and not at all while it rests. After an error it is drawn with each view.
export class Guard extends Component {
  shouldComponentUpdate({ deps, rests }, { error }) {
    const isSame = rests || (deps && deps.every((d, i) => d === this.props.deps[i]));
    return !!error || !isSame;
  }

  componentDidCatch(error) {
    if (this.state.error?.message !== error.message) {
      console.error(error);
    }
    this.setState({ error, failed: this.props.view });
  }

  render({ part: Part, ...props }, { error, failed }) {
    return error && failed === props.view ? html`<p class="bad" data-test="not-drawn">${props.words.notDrawn} <code
      >${error.message}</code></p>` : html`<${Part} ...${props} />`;
  }
}

// Refusal shows why an act was refused.
export function Refusal({ error }) {
  return html`<div role="alert" class="refusal">${error && html`<p data-test="error"
    >${error.reason && html`<b>${error.reason}</b> `}${error.message}</p>`}</div>`;
}

// Dialog is open as long as it is there, above all else.
export function Dialog({ label, close, words, children, ...rest }) {
  const element = useRef(null);
  useEffect(() => element.current.showModal(), []);
  return html`<dialog ref=${element} aria-label=${label} onClose=${close} ...${rest}>${children}
    <p><button type="button" data-test="close-dialog" onClick=${close}>${words.close}</button></p></dialog>`;
}

// Field is a labelled input.
export function Field({ label, value, set, ...rest }) {
  return html`<label class="field"><span>${label}</span><input value=${value} onInput=${(e) => set(e.target.value)}
    ...${rest} /></label>`;
}

// Choice is a labelled list of choices, each a value with its label.
export function Choice({ label, value, set, choices, ...rest }) {
  return html`<label class="field"><span>${label}</span><select value=${value} onChange=${(e) => set(e.target.value)}
    ...${rest}>${choices.map(([v, text]) => html`<option key=${v} value=${v} selected=${v === value}>${text}</option>`)}
  </select></label>`;
}

// Section is a part of the side panel that is folded away until it is asked for, with what is to be done by some acts. It is
// not there if the world allows none of them.
export function Section({ title, name, acts, view, children }) {
  const [open, setOpen] = useRemembered('open-' + name, false);
  return acts.some((act) => allows(view, act)) && html`<details class="section" open=${open} data-test=${name}
    onToggle=${(e) => setOpen(e.target.open)}><summary data-test=${name + '-title'}><h2>${title}</h2></summary>${children}</details>`;
}

// Cannot says why something cannot be done in this world.
export function Cannot({ name, words }) {
  return html`<p class="does" data-test=${name + '-cannot'}>${words.cannot}</p>`;
}

const slowly = 500; // milliseconds

// useSlowly returns what make makes, or, while the stream is too fast to be read, what it made up to so many milliseconds ago.
export function useSlowly(view, make, slowness = slowly) {
  const last = useRef({ at: -Infinity });
  const isSame = view.sampled && last.current.chosen === view.chosen && last.current.lang === view.lang;
  if (!isSame || view.at - last.current.at >= slowness) {
    last.current = { at: view.at, chosen: view.chosen, lang: view.lang, made: make() };
  }
  return last.current.made;
}
