// Keys. Each does what a control on the page does; without modifiers, never
// while something is being typed, and not at all when the reader says so.

import { admit } from './morph.js';

const byId = id => document.getElementById(id);
const store = 'fenceline-keys';
const on = () => {
  try {
    return localStorage.getItem(store) !== 'off';
  } catch {
    return true;
  }
};

const typing = el => el.matches('input:not([type=checkbox]), textarea, select, [contenteditable]');

// step moves the focus to the next or previous row's link.
function step(by) {
  const links = [...document.querySelectorAll('main tbody tr')]
    .filter(row => row.checkVisibility()).map(row => row.querySelector('a, summary')).filter(Boolean);
  if (links.length === 0) return;
  const row = document.activeElement.closest('tr');
  const here = links.findIndex(link => row && row.contains(link));
  const next = links[Math.max(0, Math.min(links.length - 1, here + by))];
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}

const act = name => document.querySelector(`[data-act=${name}] > summary`)?.click();
const go = key => document.querySelector(`nav [data-go=${key}]`)?.click();

// Admit shows the waiting rows and puts the focus on the first of them.
function show() {
  const [first] = admit();
  first?.querySelector('a')?.focus();
}

const keys = {
  '?': () => byId('help').showModal(),
  '/': () => (byId('line') ?? byId('search')).focus(),
  j: () => step(1),
  k: () => step(-1),
  n: show,
  x: () => document.activeElement.closest('tr')?.querySelector('.tick')?.click(),
  r: () => act('requeue'),
  t: () => act('terminate'),
  p: () => ['pause', 'drain', 'resume'].forEach(act),
};

let gone = -Infinity; // when g was pressed

function pressed(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
  const el = document.activeElement;
  if (e.key === 'Escape' && typing(el) && !el.closest('dialog')) el.blur();
  if (!on() || typing(el) || document.querySelector('dialog:modal')) return;
  const after = e.timeStamp - gone < 1500;
  gone = -Infinity;
  if (after && /^[a-z]$/.test(e.key) && document.querySelector(`nav [data-go=${e.key}]`)) return go(e.key);
  if (e.key === 'g') gone = e.timeStamp;
  else if (keys[e.key]) {
    e.preventDefault();
    keys[e.key]();
  }
}

// start listens for keys.
export function start() {
  document.addEventListener('keydown', pressed);
  document.addEventListener('click', e => {
    if (e.target.closest('#waiting')) show();
    if (e.target.closest('#help-open')) byId('help').showModal();
  });
  byId('help-open').hidden = false;
  const box = byId('keys-on');
  box.checked = on();
  box.addEventListener('change', () => {
    try {
      localStorage.setItem(store, box.checked ? 'on' : 'off');
    } catch { /* without storage the choice lasts as long as the page */ }
  });
}
