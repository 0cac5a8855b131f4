// Sessions: what was done in this world is saved as a file or as a Go test, and is done again.
import { file } from './connection.js';
import { html } from './ui.js';
import { Refusal, Section, useAct } from './parts.js';

export function Sessions({ view, lens, words }) {
  const { run, attempt, error, done, busy } = useAct(lens);
  const play = async ({ target }) => {
    const [chosen] = target.files;
    if (chosen) {
      await run('replay', await chosen.text());
      target.value = ''; // so that the same file can be chosen again
    }
  };
  return html`<${Section} title=${words.sessions} name="sessions" acts=${['replay']} view=${view} words=${words}>
    <p class="does">${words.sessionIs}</p>
    <p class="line">
      <button type="button" disabled=${busy} data-test="save-session"
        onClick=${() => attempt(() => save('api/session', 'lens-session.json'))}>${words.saveSession}</button>
      <button type="button" disabled=${busy} data-test="save-test"
        onClick=${() => attempt(() => save('api/session.go', 'session_test.go'))}>${words.saveTest}</button>
    </p>
    <label class="field"><span>${words.playSession}</span><input type="file" accept=".json,application/json"
      data-test="play-session" onChange=${play} /></label>
    <${Refusal} error=${error} />
    <p role="status" data-test="session-done">${done && (done.saved ? words.saved(done.saved) : words.plays)}</p>
  <//>`;
}

// save lets the browser keep what an address answers.
async function save(address, otherwise) {
  const { name, blob } = await file(address, otherwise);
  const link = document.createElement('a');
  Object.assign(link, { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser reads it meanwhile
  return { saved: name };
}
