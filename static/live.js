// The live side of a page: patches from the stream, the state of the line, and
// reading the page again where patches are not enough.

import * as clock from './clock.js';
import { morph, offer } from './morph.js';
import { Stream } from './stream.js';

const main = document.getElementById('main');
const texts = {
  live: ['live', 'Changes appear as they happen'],
  behind: ['behind', 'The page could not be brought up to date yet; it keeps trying'],
  interrupted: ['interrupted', 'The line to the server is down; it is being restored, and what was missed is read then'],
  paused: ['paused', 'Changes are read again when this page is seen'],
  out: ['signed out', 'You are not signed in any more: what you typed stays here; sign in again in another tab, or follow a link'],
  off: ['not live', 'This page shows what was so when it was loaded'],
};
// Why the server is behind, by the code that it gives.
const reasons = {
  connecting: 'The server is still joining the feed of changes; they may come a little late',
  listener_lost: 'The server lost its line for notifications and is restoring it; changes may come a little late',
  listener_silent: 'No notification reaches the server; it asks for changes instead, and they come late',
  database_unreachable: 'The server cannot reach its database; it keeps trying',
  reads_failing: 'The server cannot read what changed; it keeps trying',
};
let line = 'off'; // what the stream says of itself
let late = false; // a reading of the page failed, or the server is behind
let why = ''; // what the server says of being behind

function say() {
  const state = line === 'live' && late ? 'behind' : line;
  const live = document.getElementById('live');
  const [text, title] = texts[state];
  live.title = (state === 'behind' && reasons[why]) || title;
  if (live.dataset.state === state) return;
  live.dataset.state = state;
  document.getElementById('live-text').textContent = text;
}

// find looks for the list that a new element names, if the page shows it.
function find(selector) {
  try {
    return selector ? document.querySelector(selector) : null;
  } catch {
    return null; // a filter's text that no selector can spell
  }
}

// patch applies the elements of a patch; those that the page does not show are
// not for it.
function patch(html) {
  const box = document.createElement('template');
  box.innerHTML = html;
  for (const to of [...box.content.children]) {
    const from = document.getElementById(to.id);
    const list = find(to.dataset.into);
    if (from) morph(from, to);
    else if (list && list.dataset.waits !== undefined) offer(list, to);
    else if (list) list[to.dataset.at === 'start' ? 'prepend' : 'append'](to);
    else if (document.querySelector(`[data-refetch="${CSS.escape(to.id)}"]`)) refetch();
  }
  clock.localise(main);
}

let reading = null; // the reading under way
let once = false; // another one was asked for meanwhile
let since = null; // the patches that came since the page was asked for

// refetch reads the page again and makes this one like it.
export async function refetch() {
  if (reading) {
    once = true;
    return;
  }
  reading = read();
  late = !(await reading);
  say();
  await new Promise(done => setTimeout(done, late ? 5000 : 1000));
  reading = null;
  if (once || late) {
    once = false;
    refetch();
  }
}

async function read() {
  since = [];
  try {
    const answer = await fetch(location.href, { cache: 'no-store', headers: { Accept: 'text/html' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const to = page.getElementById('main');
    if (answer.status === 401) {
      line = 'out';
      return true;
    }
    if (!answer.ok || !to) return false;
    if (line === 'out') line = 'interrupted';
    morph(main, to);
    clock.set(main.dataset.now);
    clock.localise(main);
    document.title = page.title;
    // They may tell what was not yet so when the page was made.
    since.forEach(patch);
    return true;
  } catch {
    return false;
  } finally {
    since = null;
  }
}

function beat(data) {
  try {
    const { now, behind, reason } = JSON.parse(data);
    clock.set(now);
    if (reading) return;
    late = Boolean(behind);
    why = reason || '';
  } catch { /* a beat that tells no time still shows that the line lives */ }
}

function heard({ type, data }) {
  if (type === 'patch') {
    since?.push(data);
    patch(data);
  } else if (type === 'resync') refetch();
  else if (type === 'state') line = line === 'out' && data !== 'live' ? line : data;
  else if (type === 'lost') join().then(refetch);
  else beat(data);
  say();
}

let port = null;
const topics = () => main.dataset.topics.split(' ').filter(Boolean);
const url = new URL(main.dataset.stream, location.href).href;

async function join() {
  port?.postMessage({ follow: topics(), after: main.dataset.position, url });
}

// shared joins the worker that keeps one stream for all tabs.
function shared() {
  const worker = new SharedWorker(main.dataset.worker, { type: 'module', name: 'fenceline' });
  worker.onerror = () => {
    if (!port) return;
    port = null;
    alone();
  };
  port = worker.port;
  port.onmessage = ({ data }) => heard(data);
  join();
  setInterval(() => port?.postMessage({ here: true }), 20000);
  addEventListener('pagehide', () => port?.postMessage({ bye: true }));
  addEventListener('pageshow', e => {
    if (e.persisted) join().then(refetch);
  });
}

// alone keeps a stream of the page's own, and gives it up while nobody looks.
function alone() {
  const stream = new Stream(url, heard);
  let position = main.dataset.position;
  const look = () => {
    if (document.hidden) {
      position = stream.position || position;
      stream.close();
      stream.state = '';
      line = 'paused';
      say();
    } else if (!stream.source) {
      stream.follow(topics(), position);
    }
  };
  document.addEventListener('visibilitychange', look);
  addEventListener('pagehide', () => stream.close());
  look();
}

// start makes a page live that names topics.
export function start() {
  if (topics().length === 0) return;
  line = 'interrupted';
  // Nothing is recorded when a lease passes, and yet the page's story is another.
  addEventListener('lease-passed', () => refetch());
  if (typeof SharedWorker === 'function') shared();
  else alone();
}
