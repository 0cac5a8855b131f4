// The story of a first visit: half a minute, one caption at a time. What it tells is done, in this world, while it tells it.
import { service } from './acts.js';
import { html, useEffect, useRef, useState } from './ui.js';
import { recall, remember } from './remember.js';

const key = 'default/web';
const fault = (name, on) => ['fault', { name, on }];

// The scenes: for how many milliseconds each stands there, and what is done when it begins. Their captions are words.story.
const scenes = [
  { ms: 2800, acts: [['apply', { yaml: service(80) }]] },
  { ms: 3700, acts: [] },
  { ms: 6500, acts: [] },
  { ms: 5500, acts: [fault('cut', true), ['delete', { kind: 'Service', key }]] },
  { ms: 4500, acts: [fault('compact', true), fault('cut', false)] },
  { ms: 5000, acts: [] },
];

const freshest = 100; // events; a world that has seen more is somebody's work

// isFirst reports whether the story begins by itself: on a first visit, to a world in which nothing was done.
const isFirst = (view) => recall('story') === null && view.path === '' && view.moment === null
  && view.seq < freshest && view.world <= 1;

export function Story({ view, lens, words, choose }) {
  const [scene, setScene] = useState(isFirst(view) ? 0 : -1);
  const byItself = useRef(scene === 0);
  const isPlaying = scene >= 0 && scene < scenes.length;
  const isReady = view.connected && view.state !== null;
  const end = () => {
    remember('story', true);
    setScene(-1);
  };
  useEffect(() => {
    if (!isPlaying || !isReady) {
      return undefined;
    }
    if (scene === 0 && byItself.current && !isFirst(view)) {
      setScene(-1); // the world turns out to be in use
      return undefined;
    }
    let timer = 0;
    let isOver = false; // skipped: another telling is none of its business
    const stands = new Promise((resolve) => { timer = setTimeout(resolve, scenes[scene].ms); });
    const told = tell(scenes[scene].acts, lens, choose);
    told.catch(() => isOver || skip()); // the server is gone, or refuses
    // The next scene's acts come after this one's, however long these take.
    Promise.all([told, stands]).then(() => setScene((now) => (now === scene ? scene + 1 : now)), () => {});
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [scene, isReady]);
  useEffect(() => {
    if (scene === scenes.length) {
      remember('story', true);
    }
  }, [scene]);
  useEffect(() => {
    lens.tell(isPlaying);
    return () => lens.tell(false);
  }, [isPlaying]);
  const again = () => {
    byItself.current = false;
    setScene(0);
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
    <p class="line"><span class="more">${scene + 1} / ${scenes.length + 1}</span>
      <button type="button" class="small" data-test="story-skip" onClick=${isPlaying ? skip : end}>${isPlaying ? words.storySkip : words.close}</button>
      ${!isPlaying && html`<a class="way-link" href="#/lesson/list-watch/question" data-test="story-next" onClick=${end}>${words.storyNext}</a>
      <button type="button" class="small" data-test="story-again" onClick=${again}>${words.storyAgain}</button>`}</p>
  </section>`;
}

async function tell(acts, lens, choose) {
  if (acts.length > 0) {
    lens.skip();
  }
  if (lens.view().chosen !== key) {
    await choose(key);
  }
  for (const [name, body] of acts) {
    await lens.act(name, body);
  }
}
