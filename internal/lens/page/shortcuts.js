// The keyboard's shortcuts, and the help that lists them. A person may switch them off: they are in the way of who speaks
// to the page.
import { Dialog } from './parts.js';
import { recall, useRemembered } from './remember.js';
import { html, useEffect, useRef, useState } from './ui.js';

const keys = {
  ArrowLeft: 'stepBack', ArrowRight: 'stepOn', 'Shift+ArrowLeft': 'boxBack', 'Shift+ArrowRight': 'boxOn',
  ',': 'markBack', '.': 'markOn', p: 'play', n: 'now', s: 'step', '?': 'help',
};
const shown = { ArrowLeft: '←', ArrowRight: '→', 'Shift+ArrowLeft': 'Shift ←', 'Shift+ArrowRight': 'Shift →' };

// isTaken reports whether a key means something to what has the focus.
const isTaken = ({ target, key }) => target.closest('dialog, select, textarea, input:not([type=range])')
  || (key.startsWith('Arrow') && target.closest('input, .scrolled'));

// useShortcuts calls does[name]() for each shortcut of that name that is pressed.
export function useShortcuts(does) {
  const latest = useRef(does);
  latest.current = does;
  useEffect(() => {
    const press = (e) => {
      const name = keys[(e.shiftKey && e.key.startsWith('Arrow') ? 'Shift+' : '') + e.key];
      const act = latest.current[name];
      if (act && !e.ctrlKey && !e.altKey && !e.metaKey && !isTaken(e) && recall('shortcuts') !== false) {
        e.preventDefault();
        act();
      }
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

// Help is a button that shows all shortcuts.
export function Help({ words }) {
  const [open, setOpen] = useState(false);
  const [on, setOn] = useRemembered('shortcuts', true);
  useShortcuts({ help: () => setOpen(true) });
  return html`<button type="button" class="small" aria-label=${words.shortcuts} title=${words.shortcuts} data-test="help"
    onClick=${() => setOpen(true)}>?</button>
    ${open && html`<${Dialog} label=${words.shortcuts} close=${() => setOpen(false)} words=${words} data-test="help-dialog">
      <h2>${words.shortcuts}</h2>
      <dl class="keys">${Object.entries(keys).map(([key, name]) => html`<div key=${key}><dt><kbd>${shown[key] ?? key}</kbd></dt><dd>${words.moves[name]}</dd></div>`)}</dl>
      <label><input type="checkbox" checked=${on} data-test="shortcuts-on" onChange=${(e) => setOn(e.target.checked)} /> ${words.shortcutsOn}</label>
    <//>`}`;
}
