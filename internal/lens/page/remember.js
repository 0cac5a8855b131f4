// What this browser remembers of the person: what is folded open, and how far they have got.
import { useState } from './ui.js';

const refused = new Map(); // what the browser did not keep
const nameOf = (name) => 'lens-' + name; // in localStorage

// recall returns what was remembered, or null. A browser may refuse to keep anything: then the page remembers it until it is
// closed.
export function recall(name) {
  try {
    return refused.get(name) ?? JSON.parse(localStorage.getItem(nameOf(name)));
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(nameOf(name), JSON.stringify(value));
  } catch {
    refused.set(name, value);
  }
}

// useRemembered is useState of a value that outlives the page.
export function useRemembered(name, first) {
  const [value, setValue] = useState(() => recall(name) ?? first);
  const set = (next) => {
    remember(name, next);
    setValue(next);
  };
  return [value, set];
}
