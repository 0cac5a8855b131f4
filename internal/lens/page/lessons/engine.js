// Runs a lesson against the lens. It knows nothing of the DOM, so that a page and a test without one use it alike.
//
// A lesson is an object:
//
//   id        its name in the address
//   key       the object whose journey is shown; default/web if it is left out
//   right     the number of the right one, from 1
//   setup     steps to the state that the question is about
//   run       steps that bring the answer about
//   decides   (event) => boolean; the first event of the run for which it holds is marked on the time line
//   proof     (events, now) => {ok, because, missing}; events are those since the run began
//   breakSetup  steps to the state of "now break it yourself"; setup if it is left out
//   goal      (events, now) => boolean; events are those since that state was reached
//   solution  steps that reach the goal
//
// A step is made by act, until, release or look. `now` is the page's view: see ../fold.js. After look it has
// `contents` as well, until the next message.

/** act is POST /act/NAME. A label may say it shorter to people. */
export const act = (name, body = {}) => ({ act: name, body });

/** patience is how many seconds a step waits for what it wants. On broken layers it waits in vain. */
const patience = globalThis.lessonPatience ?? 60;

/** until waits for a condition on what was observed since the steps began. */
export const until = (what, holds) => ({ until: what, holds });

/**
 * release lets go what is parked, but for what keep names. After a pause for another key it is what reached a boundary
 * between a breakpoint and that pause.
 */
export const release = (keep) => ({ release: keep });

/** look asks for a snapshot: ticks do not have what is in the stores. */
export const look = () => ({ look: true });

/** Timeout says that a condition did not come to hold. */
export class Timeout extends Error {}

/** Recorder keeps the events of this world, and the page's view. */
export class Recorder {
  events = [];
  now = {};
  #world = 0;
  #listeners = new Set();

  /** attach records what a lens says, until the returned function is called. */
  attach(lens) {
    this.#begin(lens.view());
    this.#tell();
    const ends = [lens.events((events, view) => this.#take(events, view)), lens.subscribe((view) => this.#take([], view))];
    return () => ends.forEach((end) => end());
  }

  #take(events, view) {
    if (view.world === this.#world) {
      this.events.push(...events);
      this.now = view;
    } else {
      this.#begin(view);
    }
    this.#tell();
  }

  #tell() { for (const f of [...this.#listeners]) f(); }

  // The first events of a world may come before its number.
  #begin(view) {
    this.#world = view.world;
    this.events = [...view.events];
    this.now = view;
  }

  /** seq is that of the newest event. */
  get seq() { return this.events.length ? this.events[this.events.length - 1].seq : 0; }

  /** since returns the events after seq. */
  since(seq) { return this.events.filter((e) => e.seq > seq); }

  /** listen calls f after each message, until the returned function is called. */
  listen(f) {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  }
}

/** when resolves once the condition holds, and rejects after some seconds, or when the signal aborts. */
function when(recorder, holds, what, seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(() => reject(new Timeout(what))), seconds * 1000);
    const aborted = () => end(() => reject(signal.reason));
    const end = (settle) => {
      clearTimeout(timer);
      unlisten();
      signal?.removeEventListener('abort', aborted);
      settle();
    };
    const check = () => {
      try {
        if (holds()) end(resolve);
      } catch (err) {
        end(() => reject(err));
      }
    };
    const unlisten = recorder.listen(check);
    signal?.addEventListener('abort', aborted);
    if (signal?.aborted) aborted(); else check();
  });
}

/** play plays steps. It returns the seq of the last event before them. */
export async function play(lens, recorder, steps, { signal, told = () => {} } = {}) {
  let from = recorder.seq;
  for (const step of steps) {
    signal?.throwIfAborted();
    told(step);
    if (step.act === 'reset' || step.act === 'replay') {
      const { world } = recorder.now;
      await lens.act(step.act, step.body);
      await when(recorder, () => recorder.now.world > world, 'a new world', patience, signal);
      from = 0;
    } else if (step.act) {
      await lens.act(step.act, step.body);
    } else if (step.release) {
      const { gate } = await lens.snapshot();
      for (const { seq } of gate.parked.filter((p) => !step.release(p))) await lens.act('step', { seq });
    } else if (step.look) {
      const { contents } = await lens.snapshot();
      recorder.now = { ...recorder.now, contents };
    } else {
      await when(recorder, () => step.holds(recorder.since(from), recorder.now), step.until, patience, signal);
    }
  }
  return from;
}

/** prepare brings about the state of a question, or that of the goal. */
export function prepare(lens, recorder, lesson, phase, options) {
  const steps = phase === 'break' ? lesson.breakSetup || lesson.setup : lesson.setup;
  return play(lens, recorder, steps, options);
}

/**
 * run plays a lesson's run and holds the proof against what was observed. A step that was waited for in vain does not
 * count by itself: the proof decides.
 */
export async function run(lens, recorder, lesson, options) {
  const from = recorder.seq;
  let late = '';
  try {
    await play(lens, recorder, lesson.run, options);
  } catch (err) {
    if (!(err instanceof Timeout)) throw err;
    late = err.message;
  }
  const events = recorder.since(from);
  const verdict = lesson.proof(events, recorder.now);
  if (late) verdict.missing = [...verdict.missing, `waited in vain: ${late}`];
  return { ...verdict, ok: verdict.ok && !late, decisive: events.find(lesson.decides) };
}

/** watchGoal resolves once the goal is reached by what happens after `from`. */
export function watchGoal(recorder, lesson, from, signal) {
  const holds = () => lesson.goal(recorder.since(from), recorder.now);
  return when(recorder, holds, 'the goal', 24 * 3600, signal);
}
