// One object's journey, or all events: lanes over time, a table, and the way back from an event to what led to it.
import { html, useMemo, useState } from './ui.js';
import { useRemembered } from './remember.js';
import { boxAt } from './places.js';
import { Key, useSlowly } from './parts.js';
import { Timeline } from './timeline.js';
import { Lanes } from './lanes.js';

const rowsOfAll = 30; // of the table
const rowsOfKey = 200;

export function Journey(props) {
  const { view, live, lens, dispatch, words, choose } = props;
  const [why, setWhy] = useState(null); // {of, chain}
  const [open, setOpen] = useRemembered('open-events', false);
  const events = view.chosen ? view.journey : view.events;
  const ask = async (event) => {
    if (event.key !== view.chosen) {
      choose(event.key);
    }
    const journey = await lens.journey(event.key).catch(() => []);
    dispatch({ type: 'journey', key: event.key, events: journey });
    setWhy({ of: event, chain: causes(event.seq, [...lens.view().events, ...journey]) });
  };
  return html`<section aria-labelledby="journey-title" class="journey">
    <div class="line"><h2 id="journey-title">${view.chosen ? words.journeyOf(view.chosen) : words.allEvents}</h2>
      <${Search} view=${view} words=${words} choose=${choose} /></div>
    <${Lanes} events=${events} line=${view.chosen !== ''} view=${view} live=${live} dispatch=${dispatch} words=${words}
      pick=${(event) => event?.key && choose(event.key)}><${Timeline} ...${props} /><//>
    ${view.chosen && events.length === 0 && !Object.values(view.stores).some((store) => view.chosen in store.objects)
      && html`<p class="none" role="status" data-test="journey-empty">${words.journeyEmpty(view.chosen)}</p>`}
    ${why?.of.key === view.chosen && html`<${Why} ...${why} words=${words} close=${() => setWhy(null)} />`}
    ${useSlowly(view, () => html`<${Table} events=${events} view=${view} words=${words} choose=${choose} ask=${ask}
      open=${open} setOpen=${setOpen} />`, open ? undefined : Infinity)}
  </section>`;
}

const Layer = ({ at, words }) => html`<span class=${'layer layer-' + boxAt[at]} style=${{ '--layer': `var(--${boxAt[at]})` }}>${words.boxes[boxAt[at]].name}</span>`;

// causes follows because from an event back to the first that is known.
export function causes(seq, events) {
  const known = new Map(events.map((e) => [e.seq, e])); // of two with the same seq the last: that of the journey
  const chain = new Map();
  const open = [seq];
  while (open.length > 0) {
    const e = known.get(open.pop());
    if (e && !chain.has(e.seq)) {
      chain.set(e.seq, e);
      open.push(...(e.because ?? []));
    }
  }
  return [...chain.values()].sort((a, b) => a.seq - b.seq);
}

function Search({ view, words, choose }) {
  const [text, setText] = useState('');
  const [known, setKnown] = useState([]);
  const look = () => {
    const stored = Object.values(view.stores).flatMap((store) => Object.keys(store.objects));
    setKnown([...new Set([...view.events.map((e) => e.key ?? '').filter(Boolean), ...stored])].slice(-200).sort());
  };
  const submit = (e) => {
    e.preventDefault();
    choose(text.trim());
  };
  const options = useMemo(() => known.map((key) => html`<option key=${key} value=${key} />`), [known]);
  return html`<form class="line" role="search" onSubmit=${submit}>
    <label>${words.search} <input list="keys" value=${text} placeholder="default/web" data-test="search" onFocus=${look}
      onInput=${(e) => setText(e.target.value)} /></label>
    <datalist id="keys">${options}</datalist>
    <button data-test="choose">${words.choose}</button>
    ${view.chosen && html`<button type="button" data-test="all" onClick=${() => choose('')}>${words.showAll}</button>`}
  </form>`;
}

function Why({ of, chain, words, close }) {
  return html`<div class="why" data-test="why" role="region" aria-label=${words.whyOf(of)}><h3>${words.whyOf(of)}</h3>
    <ol>${chain.map((e) => html`<li key=${e.seq}><${Layer} at=${e.at} words=${words} />: ${words.what(e)}</li>`)}</ol>
    ${chain.length < 2 && html`<p>${words.causeUnknown}</p>`}
    <button type="button" class="small" onClick=${close}>${words.close}</button></div>`;
}

function Table({ events, view, words, choose, ask, open, setOpen }) {
  const rows = events.slice(view.chosen ? -rowsOfKey : -rowsOfAll).reverse();
  const columns = ['#', words.time, words.layer, words.event, 'rv', ...(view.chosen ? [] : [words.key]), words.cause];
  return html`<details class="events" open=${open} onToggle=${(e) => setOpen(e.target.open)}><summary data-test="events-title">${words.asTable(rows.length, events.length)}</summary>
    <div class="scrolled" tabindex="0" role="region" aria-label=${words.asTable(rows.length, events.length)}><table data-test="events">
      <thead><tr>${columns.map((column) => html`<th key=${column} scope="col">${column}</th>`)}</tr></thead>
      <tbody>${rows.map((e) => html`<tr key=${e.seq} class=${e.error ? 'failed' : ''} data-at=${e.at} data-seq=${e.seq}>
        <td>${e.seq}</td><td>${(e.us / 1e6).toFixed(6)}</td><td><${Layer} at=${e.at} words=${words} /></td><td>${words.what(e)}</td>
        <td>${e.old ? e.old + ' → ' : ''}${e.rv}</td>
        ${!view.chosen && html`<td>${e.key && html`<${Key} name=${e.key} view=${view} choose=${choose} />`}</td>`}
        <td>${e.key && html`<button type="button" class="small" aria-label=${words.whyLabel(e)} onClick=${() => ask(e)}
          >${words.why}</button>`}</td></tr>`)}</tbody></table></div></details>`;
}
