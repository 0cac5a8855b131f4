// Act: objects are created, changed and deleted, one by one or in a storm, and the world begins anew.
import { allows, kinds } from './fold.js';
import { html, useState } from './ui.js';
import { Choice, Field, Refusal, Section, useAct } from './parts.js';

// service is one that wants an Ingress, unless http is false.
export const service = (port, http = 'true') => `apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: default
  annotations:
    ingress/http: "${http}"
spec:
  ports:
  - name: http
    port: ${port}
`;

// The examples. The controller gives each Service with the annotation ingress/http an Ingress.
const examples = {
  create: service(80),
  change: service(8080),
  without: service(80, 'false'),
  wrong: service(99999),
};

export function Acts({ view, lens, words }) {
  const { run, error, done, busy } = useAct(lens, view.world);
  const [example, setExample] = useState('create');
  const [yaml, setYaml] = useState(examples.create);
  const [picked, setKind] = useState('');
  const all = kinds(view);
  const kind = all.includes(picked) ? picked : all[0] ?? '';
  const [key, setKey] = useState('default/web');
  const pick = (name) => {
    setExample(name);
    setYaml(examples[name]);
  };
  return html`<${Section} title=${words.act} name="act" acts=${['apply', 'delete']} view=${view} words=${words}>
    ${allows(view, 'apply') && html`<form onSubmit=${(e) => { e.preventDefault(); run('apply', { yaml }); }}>
      <${Choice} label=${words.example} value=${example} set=${pick} data-test="example"
        choices=${Object.keys(examples).map((name) => [name, words.examples[name]])} />
      <label class="field"><span>YAML</span><textarea rows="11" spellcheck="false" data-test="yaml" value=${yaml}
        onInput=${(e) => setYaml(e.target.value)} /></label>
      <button data-test="apply" disabled=${busy}>${words.apply}</button>
    </form>`}
    ${allows(view, 'delete') && html`<form class="line" onSubmit=${(e) => { e.preventDefault(); run('delete', { kind, key }); }}>
      <${Choice} label=${words.kind} value=${kind} set=${setKind} data-test="delete-kind"
        choices=${all.map((name) => [name, name])} />
      <${Field} label=${words.key} value=${key} set=${setKey} required data-test="delete-key" />
      <button data-test="delete" disabled=${busy}>${words.delete}</button>
    </form>`}
    <${Refusal} error=${error} />
    <p role="status" data-test="done">${done && (done.applied ? words.applied(done.applied) : words.done)}</p>
  <//>`;
}

export function Storm({ view, lens, words }) {
  const { run, error } = useAct(lens);
  const [values, setValues] = useState({ objects: '1000', changes: '5000', per_second: '500' });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  return html`<${Section} title=${words.storm} name="storm-section" acts=${['storm']} view=${view} words=${words}>
    <form class="line" onSubmit=${(e) => { e.preventDefault(); run('storm', numbers); }}>
      ${Object.keys(values).map((name) => html`<${Field} key=${name} label=${words.storms[name]}
        type="number" min="0" max="1000000" value=${values[name]} set=${(value) => setValues({ ...values, [name]: value })} data-test=${'storm-' + name} />`)}
      <button data-test="storm">${words.startStorm}</button>
      <button type="button" data-test="storm-end" onClick=${() => run('storm', {})}>${words.endStorm}</button>
    </form>
    <${Refusal} error=${error} />
  <//>`;
}

export function World({ view, lens, words }) {
  const { run, error } = useAct(lens);
  const [options, setOptions] = useState({ queue: 'inorder', workers: '1', resync: '0', bookmark: '0', lists: '' });
  const set = (name) => (value) => setOptions({ ...options, [name]: value });
  const reset = (submit) => {
    submit.preventDefault();
    run('reset', {
      queue: options.queue, workers: Number(options.workers), resync_ms: Number(options.resync), seed: view.options.seed ?? 1,
      bookmark_ms: Number(options.bookmark), paged: options.lists === 'paged', beside: !!view.options.beside,
    });
  };
  return html`<${Section} title=${words.world} name="world" acts=${['reset']} view=${view} words=${words}>
    <p>${words.worldIs(view.options)}</p>
    <form class="line" onSubmit=${reset}>
      <${Choice} label=${words.queue} value=${options.queue} set=${set('queue')} data-test="reset-queue"
        choices=${[['inorder', words.inorder], ['perkey', words.perkey]]} />
      <${Choice} label=${words.lists} value=${options.lists} set=${set('lists')} data-test="reset-lists"
        choices=${[['', words.streaming], ['paged', words.paged]]} />
      <${Field} type="number" label=${words.workers} min="1" max="16"
        value=${options.workers} set=${set('workers')} data-test="reset-workers" />
      <${Field} type="number" min="0" label=${words.resyncMs}
        value=${options.resync} set=${set('resync')} data-test="reset-resync" />
      <${Field} type="number" min="0" label=${words.bookmarkMs}
        value=${options.bookmark} set=${set('bookmark')} data-test="reset-bookmark" />
      <button data-test="reset">${words.reset}</button>
    </form>
    <${Refusal} error=${error} />
  <//>`;
}
