// What every component needs, from the kept libraries in vendor/.
import { Component, h, render } from './vendor/preact.mjs';
import htm from './vendor/htm.mjs';

export { Component, h, render };
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from './vendor/hooks.mjs';

// html`<p>${text}</p>` is a node of Preact. Text in it is never read as HTML.
export const html = htm.bind(h);
