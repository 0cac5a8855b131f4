// The lessons: a panel for the addresses #/lessons and #/lesson/ID.
import { html } from './ui.js';

export default function Lessons() {
  return html`<p>…</p>`;
}
