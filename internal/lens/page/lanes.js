// Lanes over time, one a layer, drawn on a canvas. The table beside it says the same to a keyboard and a screen reader.
import { html, useEffect, useRef, useState } from './ui.js';
import { kinds } from './fold.js';
import { boxAt, boxes, signs } from './places.js';

const laneHeight = 14;
const labelWidth = 86;
const columnWidth = 14; // of an event, in the order of events
const radius = 4;
const leastBrush = 5; // pixels; a shorter one is a click
const laneOf = Object.fromEntries(boxes.map(({ id }, i) => [id, i]));
// The marks of the informers' kinds, one after another. Each has a sign for the legend, and draws itself around a place.
const marks = [
  { sign: '●', draw: (c, x, y) => c.arc(x, y, radius, 0, 2 * Math.PI) },
  { sign: '■', draw: (c, x, y) => c.rect(x - radius, y - radius, 2 * radius, 2 * radius) },
  { sign: '▲', draw: (c, x, y) => polygon(c, [x, y - radius - 1], [x + radius + 1, y + radius], [x - radius - 1, y + radius]) },
];
export const signOf = (kind) => marks[kind % marks.length].sign;

// Lanes shows events, oldest first. If line is set, they are one object's, and a line joins them. By time, one draws over a
// part with the pointer to see it larger.
export function Lanes({ events, line, view, live, dispatch, words, pick, children }) {
  const canvas = useRef(null);
  const [width, setWidth] = useState(0);
  const [zoom, setZoom] = useState(null); // {world, from, to}, in microseconds: what was drawn over
  const [brush, setBrush] = useState(null); // [from, to], in pixels: what is drawn over now
  const down = useRef(0); // where the pointer went down
  const byTime = view.axis === 'time';
  const part = byTime && zoom?.world === live.world ? zoom : null;
  const room = Math.max(1, width - labelWidth - radius);
  const newest = events.at(-1)?.us ?? 0;
  const oldest = events[0]?.us ?? 0;
  const seen = part ? part.to - part.from : byTime ? Math.max(1, newest - oldest) : Math.floor(room / columnWidth);
  const end = part ? part.to : byTime ? newest : events.length;
  const from = end - seen;
  const x = (e, i) => labelWidth + (byTime ? ((e.us - from) / seen) * room : (i - Math.max(0, from) + 0.5) * columnWidth);

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(canvas.current.parentElement);
    return () => observer.disconnect();
  }, []);
  const onLine = Object.entries(signs).map(([what, sign]) => `${sign} ${words.marks[what]}`).join('  ');
  const informed = kinds(live);
  const all = informed.length > 0 ? informed : [...new Set(live.events.flatMap(({ kind }) => kind || []))]; // of a recording
  useEffect(() => draw(canvas.current, width, events, x, { line, words, all }));

  const isBrush = (e) => byTime && Math.abs(e.offsetX - down.current) > leastBrush;
  const click = (e) => isBrush(e) || pick(nearest(events, x, e.offsetX, e.offsetY));
  const press = (e) => {
    down.current = e.offsetX;
    e.target.setPointerCapture(e.pointerId);
  };
  const move = (e) => {
    const event = e.buttons === 0 && nearest(events, x, e.offsetX, e.offsetY);
    e.target.title = event ? `${event.key ?? ''} ${words.what(event)}, ${words.moment(event.us / 1e6)}` : '';
    if (e.buttons === 1) {
      setBrush(isBrush(e) ? [down.current, e.offsetX].sort((a, b) => a - b) : null);
    }
  };
  const release = (e) => {
    setBrush(null);
    if (isBrush(e)) {
      const [start, stop] = [down.current, e.offsetX].sort((a, b) => a - b).map((left) => from + ((left - labelWidth) / room) * seen);
      setZoom({ world: live.world, from: start, to: Math.max(stop, start + 1) });
    }
  };
  return html`<div class="lanes">${brush && html`<span class="brush" style=${{ left: brush[0] + 'px', width: brush[1] - brush[0] + 'px' }} />`}<canvas ref=${canvas} role="img" data-test="lanes" data-events=${events.length}
      data-seen=${byTime ? Math.round(seen) : 0} aria-label=${words.lanesLabel(events.length)} onClick=${click} onPointerDown=${press}
      onPointerMove=${move} onPointerUp=${release}></canvas></div>
    ${children}
    <div class="line lane-controls">
      <label>${words.axis} <select value=${view.axis} data-test="axis"
        onChange=${(e) => dispatch({ type: 'axis', axis: e.target.value })}>
        <option value="order">${words.byOrder}</option><option value="time">${words.byTime}</option></select></label>
      ${byTime && html`<button type="button" data-test="fit" title=${words.fitDoes} onClick=${() => setZoom(null)}>${words.fit}</button>`}
      <p class="legend" data-test="legend">${words.legend(all.map((kind, i) => `${marks[i % marks.length].sign} ${kind}`).join('  '), onLine)}</p>
    </div>`;
}

function nearest(events, x, left, top) {
  const lane = Math.floor(top / laneHeight);
  let best = null;
  let distance = columnWidth;
  events.forEach((e, i) => {
    const d = Math.abs(x(e, i) - left);
    if (laneOf[boxAt[e.at]] === lane && d <= distance) {
      [best, distance] = [e, d];
    }
  });
  return best;
}

// colorsOf reads the colours of the style sheet, once for dark and once for light: asking costs a layout.
const dark = matchMedia('(prefers-color-scheme: dark)');
const colors = new Map();
function colorsOf(element) {
  if (!colors.has(dark.matches)) {
    const style = getComputedStyle(element);
    const names = ['page', 'panel', 'muted', 'bad', 'kind0', 'kind1', 'kind2', 'other', 'tiny', ...boxes.map(({ id }) => id)];
    colors.set(dark.matches, Object.fromEntries(names.map((name) => [name, style.getPropertyValue('--' + name)])));
  }
  return colors.get(dark.matches);
}

function draw(canvas, width, events, x, { line, words, all }) {
  if (width === 0) {
    return;
  }
  const height = laneHeight * boxes.length;
  const scale = devicePixelRatio;
  if (canvas.width !== width * scale || canvas.height !== height * scale) {
    [canvas.width, canvas.height] = [width * scale, height * scale];
    canvas.style.height = height + 'px';
  }
  const color = colorsOf(canvas);
  const c = canvas.getContext('2d');
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = color.tiny + ' system-ui, sans-serif';
  c.textBaseline = 'middle';
  boxes.forEach(({ id }, i) => {
    c.fillStyle = i % 2 ? color.panel : color.page;
    c.fillRect(0, i * laneHeight, width, laneHeight);
    c.fillStyle = color[id];
    c.fillText(words.boxes[id].name, 4, (i + 0.5) * laneHeight);
  });
  const points = [];
  for (let i = events.length - 1; i >= 0; i--) { // from the newest, for those that are seen are near the end
    const left = x(events[i], i);
    if (left < labelWidth - width) {
      break;
    }
    if (left >= labelWidth && left <= width) {
      points.push([left, (laneOf[boxAt[events[i].at]] + 0.5) * laneHeight, events[i]]);
    }
  }
  if (line) {
    c.strokeStyle = color.muted;
    c.beginPath();
    points.forEach(([left, top]) => c.lineTo(left, top));
    c.stroke();
  }
  for (const [left, top, e] of points) {
    const kind = all.indexOf(e.kind);
    c.fillStyle = e.error ? color.bad : color['kind' + kind] ?? color.other;
    c.beginPath();
    mark(c, left, top, e, kind);
    c.fill();
  }
}

// mark draws the mark of an informer's kind, a cross for a tombstone, and a diamond for all else, such as a bare key.
function mark(c, x, y, e, kind) {
  if (e.tombstone) {
    c.rect(x - 1, y - radius - 2, 2, 2 * radius + 4);
    c.rect(x - radius, y - radius, 2 * radius, 2);
  } else if (kind >= 0) {
    marks[kind % marks.length].draw(c, x, y);
  } else {
    polygon(c, [x, y - radius - 1], [x + radius + 1, y], [x, y + radius + 1], [x - radius - 1, y]);
  }
}

function polygon(c, first, ...others) {
  c.moveTo(...first);
  others.forEach((point) => c.lineTo(...point));
}
