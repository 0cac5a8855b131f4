// The lessons: a panel for the addresses #/lessons and #/lesson/ID/PHASE. PHASE is question, answer or break. Each brings
// about the lesson's state in a new world, so each can be opened by itself.
import { html, useEffect, useRef, useState } from './ui.js';
import { shownIn } from './past.js';
import { recall, remember } from './remember.js';
import { snapshot } from './connection.js';
import { Recorder, play, prepare, run, watchGoal } from './lessons/engine.js';
import { Inline, Section, useTexts } from './lessons/text.js';
import { wordsOf } from './lessons/words.js';
import { web } from './lessons/helpers.js';
import lessons from './lessons/index.js';

const recorder = new Recorder();
const chosen = new Map(); // the number of the answer, by the lesson's id
// The lessons that were run to their end, by their ids. The browser keeps them.
const finished = () => recall('lessons') ?? {};
const finish = ({ id }) => remember('lessons', { ...finished(), [id]: true });
const isPhase = (phase) => ['question', 'answer', 'break'].includes(phase);
const addressOf = (lesson, phase) => `#/lesson/${lesson.id}/${phase}`;

export default function Lessons({ lens, lang, path, view, page }) {
  useEffect(() => recorder.attach(lens), [lens]);
  const words = wordsOf(lang);
  const [, , id, phase] = path.split('/');
  const lesson = lessons.find((l) => l.id === id);
  if (!lesson) {
    return html`<${List} lang=${lang} words=${words} />`;
  }
  const now = isPhase(phase) ? phase : 'question';
  return html`<${Lesson} key=${`${id}/${now}`} isOthers=${view.isOthers} lens=${lens} lang=${lang} words=${words} page=${page} lesson=${lesson} phase=${now} />`;
}

function List({ lang, words }) {
  const texts = useTexts(lessons.map((l) => l.file), lang);
  const done = finished();
  const n = lessons.filter(({ id }) => done[id]).length;
  return html`<h2>${words.lessons}</h2><p>${words.about}</p>
    <p data-test="progress"><progress max=${lessons.length} value=${n} aria-label=${words.progress(n, lessons.length)} /> ${words.progress(n, lessons.length)}</p>
    <ol class="lessons">${lessons.map((lesson, i) => html`<li key=${lesson.id} class=${done[lesson.id] ? 'finished' : ''}>${done[lesson.id] && html`<span class="good" data-test=${`finished-${lesson.id}`}>✓<span
        class="unseen"> ${words.finished}</span></span> `}
      <a href=${addressOf(lesson, 'question')} data-test=${`lesson-${lesson.id}`}>${texts ? html`<${Inline} text=${texts[i].title} />` : lesson.id}</a>
    </li>`)}</ol>`;
}

// useLesson brings about a phase. It returns {stage, verdict, acts, error, solve}; stage is preparing, asking, running,
// observed, trying or reached.
function useLesson(given, lesson, phase, isOthers) {
  const nothing = { stage: 'preparing', acts: [], verdict: null, error: null };
  const [state, setState] = useState(nothing);
  const [lost, setLost] = useState(false); // another page began a world, and this lesson's is gone
  const [round, setRound] = useState(0); // how often it began again
  const ending = useRef(null);
  const lens = { ...given, snapshot };
  const set = (more) => setState((s) => ({ ...s, ...more }));
  const told = (step) => step.act && setState((s) => ({ ...s, acts: [...s.acts, step] }));
  const failed = (error) => ending.current?.signal.aborted || set({ error });

  useEffect(() => {
    if (isOthers && state.stage !== 'preparing') {
      ending.current.abort(new Error('lost'));
      setLost(true);
    }
  }, [isOthers]);
  const again = () => {
    setState(nothing);
    setLost(false);
    setRound(round + 1);
  };
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    ending.current = abort;
    const begin = async () => {
      await comes(() => recorder.now.state, signal); // the page's first snapshot
      await given.choose(lesson.key ?? web);
      await prepare(lens, recorder, lesson, phase, { signal });
      lens.skip();
      if (phase === 'question') {
        set({ stage: 'asking' });
      } else if (phase === 'answer') {
        set({ stage: 'running' });
        const verdict = await run(lens, recorder, lesson, { signal, told });
        finish(lesson);
        await comes(() => shownIn(recorder.now) >= (verdict.decisive?.seq ?? 0), signal); // what decides is explained when it is seen
        set({ verdict, stage: 'observed' });
        if (verdict.decisive) {
          lens.decides(verdict.decisive.seq);
        }
      } else {
        set({ stage: 'trying' });
        await watchGoal(recorder, lesson, recorder.seq, signal);
        set({ stage: 'reached' });
      }
    };
    begin().catch(failed);
    return () => abort.abort(new Error('left'));
  }, [round]);
  const solve = () => {
    lens.skip();
    play(lens, recorder, lesson.solution, { signal: ending.current.signal, told }).catch(failed);
  };
  return { ...state, solve, lost, again };
}

// comes waits until something holds.
const comes = (holds, signal) => new Promise((resolve, reject) => {
  const check = () => { if (holds()) { end(); resolve(); } };
  const end = recorder.listen(check);
  signal.addEventListener('abort', () => { end(); reject(signal.reason); });
  check();
});

function Lesson({ lens, lang, words, page, lesson, phase, isOthers }) {
  const [text] = useTexts([lesson.file], lang) || [];
  const state = useLesson(lens, lesson, phase, isOthers);
  const heading = useRef(null);
  const focused = useRef(false); // once: a switch of the language leaves the focus where it is
  useEffect(() => {
    if (heading.current && !focused.current) {
      focused.current = true;
      heading.current.focus();
    }
  }, [text]);
  if (!text) {
    return html`<p>…</p>`;
  }
  const props = { lens, words, page, lesson, text, ...state };
  const Phase = { question: Question, answer: Answer, break: Break }[phase];
  const number = lessons.indexOf(lesson) + 1;
  return html`<p><a href="#/lessons">${words.lessons}</a> · ${number} / ${lessons.length}</p>
    <h2 tabindex="-1" ref=${heading}><${Inline} text=${text.title} /></h2>
    <nav aria-label=${words.phases} class="phases">${['question', 'answer', 'break'].map((name) => html`<a key=${name}
      href=${addressOf(lesson, name)} aria-current=${name === phase ? 'step' : undefined}>${words[name]}</a>`)}</nav>
    ${state.lost && html`<p role="alert" class="banner" data-test="lost">${words.lost} <button type="button" data-test="lesson-again"
      onClick=${state.again}>${words.again}</button></p>`}
    ${phase !== 'break' && html`<${Stage} words=${words} stage=${state.stage} />`}
    ${state.error && html`<p role="alert" class="bad" data-test="lesson-error">${state.error.message}</p>`}
    <${Phase} ...${props} />
    ${number < lessons.length && phase === 'break' && html`<p><a href=${addressOf(lessons[number], 'question')}
      data-test="next-lesson">${words.next}</a></p>`}`;
}

const Stage = ({ words, stage }) => html`<p role="status" data-test="stage" data-stage=${stage}
  class=${stage === 'reached' ? 'good' : ''}>${words.stages[stage]}</p>`;

function Question({ words, lesson, text, stage }) {
  const [answer, setAnswer] = useState(chosen.get(lesson.id));
  const choose = (n) => { chosen.set(lesson.id, n); setAnswer(n); };
  const go = (e) => { e.preventDefault(); location.hash = addressOf(lesson, 'answer'); };
  return html`<${Section} section=${text.state} />
    <${Section} section=${text.question}>
      <form onSubmit=${go}><fieldset class="answers"><legend>${words.choose}</legend>
        ${text.answers.map((a, i) => html`<label key=${i}><input type="radio" name="answer" checked=${answer === i + 1}
          onChange=${() => choose(i + 1)} data-test=${`answer-${i + 1}`} /><span>${i + 1}. <${Inline} text=${a} /></span></label>`)}
      </fieldset>
      <button type="submit" disabled=${!answer || stage !== 'asking'} data-test="run-lesson">${words.run}</button></form>
    <//>`;
}

function Answer({ lens, words, page, lesson, text, verdict, acts }) {
  const mine = chosen.get(lesson.id);
  const said = (n) => html`<b>${' '}<${Inline} text=${text.answers[n - 1]} /></b>`;
  return html`${verdict?.ok && html`
      <p data-test="right-answer" data-right=${mine === lesson.right}><span class="good">${words.right(mine, lesson.right)}</span>${said(lesson.right)}</p>
      ${mine && mine !== lesson.right && html`<p data-test="chosen-answer">${words.yours(mine)}${said(mine)}</p>
        <p class="wrong" data-test="wrong">${words.whyNot(mine)} <${Inline} text=${text.wrong[mine] ?? ''} /></p>`}`}
    ${verdict && html`<${Section} section=${text.explanation} />
      <${Observed} lens=${lens} words=${words} verdict=${verdict} right=${lesson.right} />`}
    <${Acts} words=${words} page=${page} acts=${acts} />
    ${verdict && html`${verdict.decisive && html`<section><h3>${text.decides.heading}</h3><p data-test="decides"><${Inline} text=${text.decides.paragraphs[0]} /></p>
        <p><button type="button" data-test="decisive" onClick=${() => lens.goTo(verdict.decisive.seq)}>★ ${words.decisive}</button></p></section>`}
      <p><a href=${addressOf(lesson, 'break')} data-test="break-lesson">${words.breakIt}</a></p>`}`;
}

function Break({ words, page, text, stage, solve, acts }) {
  return html`<div class="goal"><${Stage} words=${words} stage=${stage} />${stage === 'reached' && html`<p data-test="reached-why"><${Inline}
      text=${text.reached.paragraphs[0]} /></p>`}<${Section} section=${text.goal} /></div>
    <details><summary>${text.hint.heading}</summary>${text.hint.paragraphs.map((p) => html`<p><${Inline} text=${p} /></p>`)}</details>
    <p><button type="button" disabled=${stage !== 'trying' || acts.length > 0} data-test="solve" onClick=${solve}>${words.solve}</button></p>
    <${Acts} words=${words} page=${page} acts=${acts} />`;
}

const Acts = ({ words, page, acts }) => acts.length > 0 && html`<section><h3>${words.done}</h3>
  <ol class="acts" data-test="acts">${acts.map((step, i) => html`<li key=${i}><code>${labelOf(step, page)}</code></li>`)}</ol></section>`;

// labelOf says an act as the buttons of the page do.
function labelOf({ act, label, body: { name, on, ...body } }, page) {
  const [does] = page.faults[name] ?? [page[act] ?? act];
  const ended = name === 'cut' ? page.cutMend : page.end(does);
  return [on === false ? ended : does, ...(label ? [label] : Object.values(body))].join(' ');
}

// Observed shows the events that the proof rests on.
function Observed({ lens, words, verdict, right }) {
  const version = (e) => [e.old, e.rv].filter(Boolean).join(' → ') || (e.delay_us ? `${e.delay_us / 1000} ms` : '');
  const what = (e) => [e.action, e.initial && 'initial', e.tombstone && 'tombstone', e.code].filter(Boolean).join(' ');
  return html`<section><h3>${words.observed}</h3>
    <p data-test="proof" data-ok=${verdict.ok} class=${verdict.ok ? 'good' : 'bad'}>${verdict.ok ? words.holds(right) : words.fails}</p>
    ${!verdict.ok && html`<ul data-test="missing">${verdict.missing.map((m) => html`<li key=${m}><code>${m}</code></li>`)}</ul>`}
    <div class="scrolled" tabindex="0" role="group" aria-label=${words.observed}><table class="observed">
      <thead><tr>${words.columns.map((c) => html`<th key=${c} scope="col">${c}</th>`)}</tr></thead>
      <tbody>${verdict.because.map((e) => html`<tr key=${e.seq}><td>${e.us === undefined ? '' : (e.us / 1000).toFixed(1)}</td><td>${e.at}${e.handler && ` ${e.handler}`}</td>
        <td>${e.key && html`<button type="button" class="key" onClick=${() => lens.choose(e.key)}>${e.key}</button>`}</td>
        <td>${what(e)}</td><td>${version(e)}</td></tr>`)}</tbody>
    </table></div></section>`;
}
