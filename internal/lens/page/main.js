// A placeholder: the counters of the stream, and its last events.
const show = (id, text) => { document.getElementById(id).textContent = text; };
const stream = new EventSource('stream');
let last = [];
const read = (message) => {
  const data = JSON.parse(message.data);
  last = (message.type === 'snapshot' ? [] : last).concat(data.events).slice(-40);
  show('status', `event ${data.seq}, ${data.left_out} left out, ${data.gate.mode}`);
  show('counts', JSON.stringify({ counts: data.counts, state: data.state, faults: data.faults }, null, 1));
  show('events', last.map((e) => JSON.stringify(e)).join('\n'));
};
stream.addEventListener('snapshot', read);
stream.addEventListener('tick', read);
stream.addEventListener('error', () => show('status', 'the stream broke; the browser tries again'));
