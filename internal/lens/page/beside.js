// Beside client-go: what its informers and ours were sent and told of the chosen object, both stores, and the first
// difference.
import { beside } from './connection.js';
import { allows } from './fold.js';
import { html, useEffect, useRef, useState } from './ui.js';
import { Cannot, Field, Key, Refusal, useAct } from './parts.js';

const askEvery = 500; // milliseconds, at least, between two questions
const sides = [0, 1]; // ours, client-go's

export function Beside(props) {
  const { view, words, lens } = props;
  const { run, error, busy } = useAct(lens);
  const report = useReport(view);
  return html`<section class="beside" aria-labelledby="beside-title" data-test="beside"><h2 id="beside-title">${words.beside}</h2>
    <p>${words.besideDoes}</p>
    ${allows(view, 'beside') ? html`<p><button type="button" aria-pressed=${!!view.beside} disabled=${busy} data-test="beside-on"
      onClick=${() => run('beside', { on: !view.beside })}>${words.besideOn}</button> ${words.besideBegins}</p>`
      : html`<${Cannot} name="beside" words=${words} />`}
    <${Refusal} error=${error} />
    <${Verdict} ...${props} first=${report?.first} />
    ${report && html`<${Search} ...${props} />
      ${Object.entries(report.rows).map(([kind, rows]) => html`<${Lanes} key=${kind} kind=${kind} rows=${rows} ...${props} />`)}
      <${Stores} report=${report} ...${props} />`}
  </section>`;
}

// useReport asks for the report anew when the counts have changed. It is null while client-go's informers do not run.
function useReport(view) {
  const [report, setReport] = useState(null);
  const asked = useRef(-Infinity);
  const newest = useRef('');
  const about = `${view.world} ${view.chosen}`; // an answer about something else comes too late
  newest.current = about;
  useEffect(() => {
    if (!view.beside) {
      return undefined;
    }
    const ask = async () => {
      asked.current = performance.now();
      const got = await beside(view.chosen).catch(() => null); // without a connection there will be a tick later
      if (got && newest.current === about) {
        setReport({ ...got, about });
      }
    };
    const changed = newest.current !== report?.about;
    const timer = setTimeout(ask, changed ? 0 : asked.current + askEvery - performance.now());
    return () => clearTimeout(timer);
  }, [view.beside, view.pulse.sent, about]);
  return view.beside && report?.about === about ? report : null;
}

// Mark says with a sign and words whether something is the same, differs, or is open.
function Mark({ is, children, ...rest }) {
  const sign = { same: '✓', differs: '✗', open: '…' }[is];
  return html`<span class=${'mark ' + is} data-is=${is} ...${rest}><span aria-hidden="true">${sign}</span> ${children}</span>`;
}

function Verdict({ view, words, choose, first }) {
  const counts = view.beside;
  if (!counts) {
    return html`<p role="status" data-test="beside-verdict"><${Mark} is="open">${words.besideOff}<//></p>`;
  }
  const state = counts.quiet ? words.besideQuiet : words.besideWaits;
  const is = counts.differences > 0 ? 'differs' : counts.quiet ? 'same' : 'open';
  return html`<p role="status" data-test="beside-verdict"><${Mark} is=${is}>${words.besideCounts(counts)}<//> ${state}</p>
    ${first && html`<p class="why" data-test="beside-first"><b><${Mark} is="differs">${words.besideFirst}<//></b>${' '}
      ${words.besideDiffers[first.differs]}${first.key && html` · ${first.kind} <${Key} name=${first.key} view=${view} choose=${choose} />
      @${first.rv}`} · ${words.moment(first.us / 1e6)}</p>`}`;
}

function Search({ view, words, choose }) {
  const [key, setKey] = useState(view.chosen || 'default/web');
  const go = (submit) => {
    submit.preventDefault();
    choose(key);
  };
  return html`<form class="line" onSubmit=${go}>
    <${Field} label=${words.search} value=${key} set=${setKey} data-test="beside-key" />
    <button data-test="beside-choose">${words.besideShow}</button></form>`;
}

// Lanes are what each side was sent and told, a row for each version of the chosen object.
function Lanes({ kind, rows, view, words }) {
  const title = words.besideLanes(kind, view.chosen);
  return html`<h3>${title}</h3><div class="scrolled events" tabindex="0" role="group" aria-label=${title}><table data-test=${'beside-' + kind}>
    <thead><tr><th rowspan="2" scope="col">${words.version}</th>${words.besideSides.map((name) => html`<th key=${name} colspan="2"
      scope="colgroup">${name}</th>`)}<th rowspan="2" scope="col">${words.besideEqual}</th></tr>
      <tr>${sides.map((side) => html`<th key=${'s' + side} scope="col">${words.at.sent}</th><th key=${'c' + side}
        scope="col">${words.at.called}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.rv + !!row.gone} class=${row.differs ? 'differs' : ''} data-test="beside-row">
      <th scope="row">${row.rv}${row.gone && ' ' + words.gone}</th>
      ${sides.map((side) => html`<td key=${'s' + side}>${row.sent[side] || '–'}</td><td key=${'c' + side}
        >${row.calls[side].name ? words.besideCall(row.calls[side]) : '–'}</td>`)}
      <td><${Equal} row=${row} words=${words} /></td></tr>`)}</tbody>
  </table></div>`;
}

function Equal({ row, words }) {
  if (row.differs) {
    return html`<${Mark} is="differs">${words.besideDiffers[row.differs]}<//>`;
  }
  const called = row.calls.filter((call) => call.name).length;
  return called === 2 ? html`<${Mark} is="same">${words.same}<//>` : html`<${Mark} is="open">${words.besideOpen}<//>`;
}

// Stores are both stores side by side, and the lengths of both queues.
function Stores({ report, view, words, choose }) {
  const [ours, theirs] = words.besideSides;
  return html`<h3>${words.besideStores}</h3>
    <p data-test="beside-queues">${words.besideQueues}: ${ours} ${report.queues[0]} · ${theirs} ${report.queues[1]}</p>
    <div class="scrolled events" tabindex="0" role="group" aria-label=${words.besideStores}><table data-test="beside-stores">
      <thead><tr><th scope="col">${words.kind}</th><th scope="col">${words.key}</th><th scope="col">${ours}</th>
        <th scope="col">${theirs}</th><th scope="col">${words.besideEqual}</th></tr></thead>
      <tbody>${report.store.map(({ kind, key, rv }) => html`<tr key=${kind + key}><td>${kind}</td>
        <td><${Key} name=${key} view=${view} choose=${choose} /></td><td>${rv[0] || '–'}</td><td>${rv[1] || '–'}</td>
        <td>${rv[0] === rv[1] ? html`<${Mark} is="same">${words.same}<//>`
          : html`<${Mark} is=${view.beside.quiet ? 'differs' : 'open'}>${words.notSame}<//>`}</td></tr>`)}</tbody>
    </table></div>
    ${report.store_left_out > 0 && html`<p class="more">${words.more(report.store_left_out)}</p>`}`;
}
