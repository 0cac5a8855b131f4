// The dots over the house: each stands in the tray of its box, and travels along the arrows to the next one.
import { kinds } from './fold.js';
import { signOf } from './lanes.js';
import { html, useLayoutEffect, useRef, useState } from './ui.js';

const travel = 420; // milliseconds, fewer than a step takes
const perTray = 2;
const still = matchMedia('(prefers-reduced-motion: reduce)');

// traysOf measures where the trays are: [left, top, width] by the boxes' names.
function traysOf(house) {
  const trays = [...house.querySelectorAll('[data-tray]')];
  const origin = house.getBoundingClientRect();
  return Object.fromEntries(trays.map((tray) => {
    const { left, top, width } = tray.getBoundingClientRect();
    return [tray.dataset.tray, [left - origin.left, top - origin.top, width]];
  }));
}

// Tokens draws the dots over the house, an element that is given by its reference.
export function Tokens({ tokens, view, house, choose }) {
  const [trays, setTrays] = useState({});
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setTrays(traysOf(house.current)));
    observer.observe(house.current);
    return () => observer.disconnect();
  }, []);
  const all = kinds(view);
  const inBox = Object.groupBy(tokens, ({ box }) => box);
  return html`<ul class="tokens" data-test="tokens">${tokens.map((token) => {
    const others = inBox[token.box];
    const hidden = Math.max(0, others.length - perTray); // the oldest, for which there is no room
    const slot = others.indexOf(token) - hidden;
    return html`<${Token} key=${token.id + token.life} token=${token} to=${at(trays[token.box], slot)} isHidden=${slot < 0} more=${slot === 0 ? hidden : 0}
      from=${at(trays[token.from], 0)} color=${token.kind === '' ? 'other' : all.indexOf(token.kind)} choose=${choose} />`;
  })}</ul>`;
}

function at(tray, slot) {
  if (!tray) {
    return null;
  }
  const [left, top, width] = tray;
  return [left + (Math.max(0, slot) * width) / perTray, top, width / perTray - 4];
}

function Token({ token, to, from, color, isHidden, more, choose }) {
  const element = useRef(null);
  const was = useRef(null);
  useLayoutEffect(() => {
    if (!to) {
      return;
    }
    const place = ([left, top]) => `translate(${left}px, ${top}px)`;
    const { style } = element.current;
    [style.transform, style.width] = [place(to), to[2] + 'px'];
    const start = was.current ?? from ?? to;
    if (place(start) !== place(to) && !still.matches) {
      element.current.animate([{ transform: place(start) }, { transform: place(to) }], { duration: travel, easing: 'ease-in-out' });
    }
    was.current = to;
  }, [to?.join()]);
  const name = token.key.split('/').at(-1);
  return html`<li ref=${element} class=${`token color-${color}` + (token.ended ? ' ended' : '') + (token.error ? ' failed' : '') + (isHidden ? ' hidden' : '')}
    data-test="token" data-key=${token.key} data-kind=${token.kind} data-box=${token.box} data-rv=${token.rv}
    title=${`${token.kind || 'key'} ${token.key}`} onClick=${() => choose(token.key)}
    >${token.tombstone ? '✝' : token.kind && color >= 0 ? signOf(color) : token.kind ? '●' : '◆'} ${name}${token.rv && ' @' + token.rv}${more > 0 && ` +${more}`}</li>`;
}
