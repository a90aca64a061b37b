// One stream of server-sent events that comes back by itself and resumes where
// it was. It is the same in the shared worker and in a page without one.

const silence = 25000; // ms without a beat after which the line counts as dead
const longest = 30000; // ms between two tries at the most

// older returns the earlier of two positions; an unknown one is the earliest.
export function older(a, b) {
  const digits = /^\d+$/;
  if (!digits.test(a) || !digits.test(b)) return '';
  return BigInt(a) < BigInt(b) ? a : b;
}

export class Stream {
  // tell is called with {type, data} for every event, and with
  // {type: 'state', data: 'live' or 'interrupted'} when that changes.
  constructor(url, tell) {
    this.url = url;
    this.tell = tell;
    this.topics = [];
    this.position = '';
    this.state = '';
    this.failures = 0;
  }

  // follow opens the stream for topics from a position on.
  follow(topics, after) {
    this.topics = topics;
    this.position = after;
    this.failures = 0;
    this.open();
  }

  // close ends the stream and stops trying.
  close() {
    clearTimeout(this.retry);
    clearInterval(this.watch);
    this.source?.close();
    this.source = null;
  }

  open() {
    this.close();
    const query = new URLSearchParams(this.topics.map(t => ['topic', t]));
    if (this.position) query.set('after', this.position);
    const source = new EventSource(`${this.url}?${query}`);
    this.source = source;
    for (const type of ['hello', 'beat', 'patch', 'resync']) {
      source.addEventListener(type, e => this.source === source && this.heard(type, e));
    }
    source.onerror = () => this.source === source && this.failed();
    this.last = performance.now();
    this.watch = setInterval(() => this.check(), 5000);
  }

  heard(type, e) {
    this.last = performance.now();
    this.failures = 0;
    if (e.lastEventId) this.position = e.lastEventId;
    if (type === 'hello' || type === 'beat') this.note(e.data);
    this.report('live');
    this.tell({ type, data: e.data });
  }

  // note takes the position that a beat carries, which moves on without events.
  note(data) {
    try {
      const { position } = JSON.parse(data);
      if (position) this.position = String(position);
    } catch { /* a beat without a position still shows that the line lives */ }
  }

  // failed leaves a plain drop to the browser, which keeps the server's retry
  // time, and comes back by itself where the browser gave up.
  failed() {
    this.report('interrupted');
    if (this.source.readyState === EventSource.CLOSED) this.again();
  }

  check() {
    if (performance.now() - this.last <= silence) return;
    this.report('interrupted');
    this.again();
  }

  again() {
    this.close();
    const wait = Math.min(longest, 1000 * 2 ** this.failures++) * (0.5 + Math.random() / 2);
    this.retry = setTimeout(() => this.open(), wait);
  }

  report(state) {
    if (state === this.state) return;
    this.state = state;
    this.tell({ type: 'state', data: state });
  }
}
