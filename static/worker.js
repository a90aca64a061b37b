// The shared worker: one stream for all tabs of the console, so that a dozen
// tabs take one of the browser's few connections to a host.

import { Stream, older } from './stream.js';

const tabs = new Map(); // port → {topics, seen}
const patience = 180000; // ms without a word after which a tab counts as gone
let stream = null;
let later = 0;

onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data }) => {
    if (data.follow) follow(port, data);
    else if (data.bye) leave(port);
    else if (tabs.has(port)) tabs.get(port).seen = performance.now();
    else port.postMessage({ type: 'lost' });
  };
};

setInterval(() => {
  for (const [port, tab] of tabs) if (performance.now() - tab.seen > patience) leave(port);
}, 60000);

const union = () => [...new Set([...tabs.values()].flatMap(tab => tab.topics))].sort();

function tell(message) {
  for (const port of tabs.keys()) port.postMessage(message);
}

function follow(port, { follow: topics, after, url }) {
  tabs.set(port, { topics, seen: performance.now() });
  stream ??= new Stream(url, tell);
  if (stream.state) port.postMessage({ type: 'state', data: stream.state });
  const missing = topics.some(t => !stream.topics.includes(t));
  if (!stream.source && !stream.topics.length) return stream.follow(union(), after);
  if (missing) {
    // From the older position on: a repeat does no harm, a hole would.
    const from = older(after, stream.position);
    stream.follow(union(), from || stream.position);
    if (!from) port.postMessage({ type: 'resync' });
  } else if (after !== stream.position && older(after, stream.position) !== stream.position) {
    // The stream may have told what this tab's page did not hold yet.
    port.postMessage({ type: 'resync' });
  }
}

// leave forgets a tab, and a little later the topics that only it followed.
function leave(port) {
  tabs.delete(port);
  clearTimeout(later);
  later = setTimeout(() => {
    const topics = union();
    if (topics.length === 0) {
      stream?.close();
      stream = null;
    } else if (topics.length !== stream.topics.length) {
      stream.follow(topics, stream.position);
    }
  }, 2000);
}
