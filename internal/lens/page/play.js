// Play: the three things to do first. A deletion that nobody is told of is one experiment, beside the cut. What more can be done is folded away below them.
import { allows } from './fold.js';
import { service } from './acts.js';
import { html, useRef } from './ui.js';
import { Story } from './story.js';
import { Refusal, useAct } from './parts.js';

const key = 'default/web';

export function Play(props) {
  const { view, lens, words, choose } = props;
  const { run, error, busy } = useAct(lens, view.world);
  const paused = view.gate.mode === 'step';
  const there = Object.values(view.stores).some((store) => key in store.objects);
  const made = useRef(0); // how often
  const make = async () => {
    if (view.chosen !== key) {
      await choose(key);
    }
    made.current += 1;
    const n = lens.view().seq + made.current; // more than last time, also if nothing was seen since: else nothing would change
    await run('apply', { yaml: service(8000 + (n % 1000)) });
  };
  const step = async () => {
    if (!view.chosen) {
      await choose(key);
    }
    await run(paused ? 'run' : 'pause');
  };
  const cut = !!view.faults.cut;
  const experiment = html`<p class="line"><button type="button" data-test="play-delete" disabled=${!there || busy}
      onClick=${() => run('delete', { kind: 'Service', key })}>${words.cutDelete}</button>
    <button type="button" data-test="play-compact" onClick=${() => run('fault', { name: 'compact', on: true })}>${words.faults.compact[0]}</button></p>`;
  return html`<section class="play" aria-labelledby="play-title"><h2 id="play-title">${words.play}</h2>
    <${Story} ...${props} />
    <${Way} name="make" does=${words.makeDoes} off=${busy} onClick=${make}>${there ? words.makeChange : words.makeCreate}<//>
    <${Way} name="cut" more=${experiment} does=${cut ? words.cutMendDoes : words.cutDoes} pressed=${cut} onClick=${() => run('fault', { name: 'cut', on: !cut })}
      >${cut ? words.cutMend : words.cutBreak}<//>
    <${Way} name="slowly" does=${paused ? words.slowlyEndDoes : words.slowlyDoes} pressed=${paused} onClick=${step}>${paused ? words.run : words.slowly}<//>
    <${Refusal} error=${error} />
  </section>`;
}

// isPlayed reports whether all three can be done.
export const isPlayed = (view) => ['apply', 'fault', 'pause', 'run'].every((act) => allows(view, act));

function Way({ name, does, more, off, pressed, onClick, children }) {
  return html`<div class="way"><button type="button" data-test=${'play-' + name} disabled=${!!off} aria-pressed=${pressed}
    onClick=${onClick}>${children}</button>${more}<p>${does}</p></div>`;
}
