// The console's script. Everything works without it; with it, times are in the
// reader's zone, pages change as jobs do, forms open as dialogs and keys work.

import * as bulk from './bulk.js';
import * as clock from './clock.js';
import * as keys from './keys.js';
import * as live from './live.js';
import * as search from './search.js';
import * as slider from './slider.js';
import { release } from './morph.js';

const main = document.getElementById('main');

// An action's form opens as a dialog; without script it opens in its place.
function toggled(e) {
  const part = e.target;
  if (!part.matches('details[data-act]')) return;
  const dialog = part.querySelector('dialog');
  if (part.open && !dialog.matches(':modal')) {
    dialog.removeAttribute('open');
    dialog.querySelector('[data-close]').hidden = false;
    dialog.showModal();
    dialog.querySelector('textarea').focus();
  } else if (!part.open) {
    release(part.closest('[data-hold]'));
  }
}

function closed(e) {
  const part = e.target.parentElement;
  if (!part?.matches('details[data-act]')) return;
  part.open = false;
  e.target.setAttribute('open', '');
}

// A form is sent once: its buttons rest until the page is shown again.
function sent(e) {
  if (e.target.method !== 'post') return;
  setTimeout(() => e.target.querySelectorAll('button').forEach(b => { b.disabled = true; }));
}

function restored() {
  document.querySelectorAll('form[method=post] button').forEach(b => { b.disabled = false; });
}

// The message of an action is shown once, not again on reload.
function forget() {
  const here = new URL(location.href);
  if (!here.searchParams.has('done')) return;
  here.searchParams.delete('done');
  history.replaceState(null, '', here);
}

// A timeline wider than the screen is first seen where its last late write was
// refused, else where it is now.
function look() {
  const lanes = document.querySelector('svg.lanes');
  const place = [...lanes?.querySelectorAll('.diamond') ?? []].at(-1) ?? document.getElementById('now');
  if (!lanes || !place) return;
  const part = lanes.parentElement;
  part.scrollLeft = place.getBoundingClientRect().right - part.getBoundingClientRect().left - part.clientWidth / 2;
}

// The code of a set-up link stands behind the #, which goes to no server.
function code() {
  const field = document.getElementById('setup-code');
  if (!field || location.hash.length < 2) return;
  field.value = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
}

document.addEventListener('toggle', toggled, true);
document.addEventListener('close', closed, true);
document.addEventListener('click', e => e.target.closest('[data-close]')?.closest('dialog').close());
document.addEventListener('submit', sent);
addEventListener('pageshow', e => e.persisted && restored());

forget();
code();
clock.set(main.dataset.now);
clock.localise(document.body);
look();
setInterval(clock.tick, 1000);
document.addEventListener('visibilitychange', clock.tick);
keys.start();
bulk.start();
search.start();
slider.start();
live.start();
