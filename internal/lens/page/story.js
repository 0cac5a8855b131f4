// The story of a first visit, one caption at a time. What it tells is done, in this world, while it tells it. The caption
// is of the moment that the dots and the boxes show.
import { service } from './acts.js';
import { html, useEffect, useRef, useState } from './ui.js';
import { shownIn } from './past.js';
import { recall, remember } from './remember.js';

const key = 'default/web';
const fault = (name, on) => ['fault', { name, on }];

// A phase begins with what is done. It ends so many milliseconds after that, and after the dots have shown the event that it lasts until.
const phases = [
  { acts: ({ seq }) => [['apply', { yaml: service(8000 + (seq % 1000)) }]], until: (e) => e.at === 'called' && e.kind === 'Ingress', ms: 1500 },
  { acts: () => [fault('cut', true), ['delete', { kind: 'Service', key }]], ms: 5000 },
  { acts: () => [fault('compact', true), fault('cut', false)], until: (e) => e.at === 'called' && e.kind === 'Service' && e.tombstone, ms: 4000 },
  { acts: () => [] },
];

// The scenes, whose captions are words.story: each begins with its phase, or with an event that the dots show. That one stands for so
// many milliseconds at least, so that one can read what is told of it.
const scenes = [
  { phase: 0, begins: (e) => e.at === 'sent' && e.kind === 'Service', stands: 2500 },
  { phase: 0, begins: (e) => e.at === 'decoded' && e.kind === 'Service', stands: 1000 },
  { phase: 0, begins: (e) => e.at === 'queued', stands: 1500 },
  { phase: 1, begins: () => false },
  { phase: 2, begins: () => false },
  { phase: 2, begins: (e) => e.at === 'stored' && e.kind === 'Service' && e.action === 'removed', stands: 2500 },
  { phase: 3, begins: () => false },
];
const isOf = (holds) => (e) => e.key === key && holds(e);

// sceneOf returns the scene of a phase that the events which the dots have shown since it began have come to.
export function sceneOf(phase, shown) {
  const last = scenes.findLastIndex((scene) => scene.phase === phase && shown.some(isOf(scene.begins)));
  return last < 0 ? scenes.findIndex((scene) => scene.phase === phase) : last;
}

// stands is for how many milliseconds a step is shown at least.
export const stands = (step) => Math.max(0, ...scenes.filter(({ begins }) => step.some(isOf(begins))).map((scene) => scene.stands));

// isFirst reports whether the story begins by itself: on a first visit, to a world in which nothing was done. The server itself
// has only the Service default/kubernetes.
const isFirst = (view) => recall('story') === null && view.path === '' && view.moment === null
  && view.world <= 1 && Object.keys(view.faults).length === 0
  && view.events.every((e) => !e.key || e.key === 'default/kubernetes');

export function Story({ view, lens, words, choose }) {
  const [phase, setPhase] = useState(isFirst(view) ? 0 : -1);
  const [begun, setBegun] = useState({}); // {phase, seq, done}: what a phase does is begun after the event seq, and is done
  const byItself = useRef(phase === 0);
  const isPlaying = phase >= 0 && phase < phases.length - 1;
  const isReady = view.connected && view.state !== null;
  const shown = begun.phase === phase ? view.events.filter(({ seq }) => seq > begun.seq && seq <= shownIn(view)) : [];
  const scene = phase < 0 ? -1 : sceneOf(phase, shown);
  const end = () => {
    remember('story', true);
    setPhase(-1);
  };
  useEffect(() => {
    lens.tell(isPlaying);
    return () => lens.tell(false);
  }, [isPlaying]);
  useEffect(() => {
    if (phase < 0 || !isReady) {
      return undefined;
    }
    if (phase === 0 && byItself.current && !isFirst(view)) {
      setPhase(-1); // the world turns out to be in use
      return undefined;
    }
    let isOver = false; // skipped: another telling is none of its business
    if (!isPlaying) {
      remember('story', true);
    }
    const say = (done, seq) => isOver || setBegun({ phase, seq, done });
    tell(phases[phase].acts, lens, choose, say).catch(() => isOver || skip()); // the server is gone, or refuses
    return () => {
      isOver = true;
    };
  }, [phase, isReady]);
  const { until, ms } = phases[phase] ?? {};
  const isShown = isPlaying && begun.phase === phase && begun.done && (!until || shown.some(isOf(until)));
  useEffect(() => {
    const timer = isShown ? setTimeout(() => setPhase(phase + 1), ms) : 0;
    return () => clearTimeout(timer);
  }, [isShown]);
  const again = () => {
    byItself.current = false;
    setBegun({});
    setPhase(0);
  };
  const skip = () => {
    end();
    if (lens.view().faults.cut) {
      lens.act(...fault('cut', false)).catch(() => {});
    }
  };
  if (scene < 0) {
    return html`<p><button type="button" class="small" data-test="story-again" onClick=${again}>${words.storyAgain}</button></p>`;
  }
  return html`<section class="story" data-test="story" data-scene=${scene} aria-label=${words.storyIs}>
    <p role="status" class="telling" data-test="story-caption">${words.story[scene]}</p>
    <p class="line"><span class="more">${scene + 1} / ${scenes.length}</span>
      <button type="button" class="small" data-test="story-skip" onClick=${isPlaying ? skip : end}>${isPlaying ? words.storySkip : words.close}</button>
      ${!isPlaying && html`<a class="way-link" href="#/lesson/list-watch/question" data-test="story-next" onClick=${end}>${words.storyNext}</a>
      <button type="button" class="small" data-test="story-again" onClick=${again}>${words.storyAgain}</button>`}</p>
  </section>`;
}

// tell does what a phase does, and says before and after it what the newest event was before.
async function tell(acts, lens, choose, say) {
  lens.skip();
  if (lens.view().chosen !== key) {
    await choose(key);
  }
  const before = lens.view();
  say(false, before.seq);
  for (const [name, body] of acts(before)) {
    await lens.act(name, body);
  }
  say(true, before.seq);
}
