// What this browser remembers of the person: what is folded open, and how far they have got.
import { useState } from './ui.js';

const nameOf = (name) => 'lens-' + name; // in localStorage

export const recall = (name) => JSON.parse(localStorage.getItem(nameOf(name)));
export const remember = (name, value) => localStorage.setItem(nameOf(name), JSON.stringify(value));

// useRemembered is useState of a value that outlives the page.
export function useRemembered(name, first) {
  const [value, setValue] = useState(() => recall(name) ?? first);
  const set = (next) => {
    remember(name, next);
    setValue(next);
  };
  return [value, set];
}
