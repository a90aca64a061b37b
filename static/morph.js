// Morphing: an element becomes another one, keyed by ids, and everything that
// the reader is doing stays: selection, open parts, focus, scroll, typed text.

// Parts that wait because the reader has them open, with what they become.
const held = new Map();

const holds = el => el.dataset?.hold !== undefined && el.querySelector('details[open]') !== null;

// release applies what a part was waiting for, once it is closed.
export function release(part) {
  const to = held.get(part);
  held.delete(part);
  if (to && part.isConnected) morph(part, to);
}

function hold(part, to) {
  held.set(part, to);
  const note = part.querySelector('.behind');
  if (note) note.hidden = part.dataset.revision === to.dataset.revision;
}

// What the reader or the script owns is never taken from the server.
function owned(el, name) {
  if (name === 'open') return el.localName === 'details' || el.localName === 'dialog';
  if (name === 'transform') return el.id === 'now';
  if (name === 'width') return el.id === 'held';
  if (name === 'value' || name === 'checked') return el.localName === 'input' && el.type !== 'hidden' && dirty(el);
  return name === 'value' && el.localName === 'progress';
}

const dirty = el => el.value !== el.defaultValue || el.checked !== el.defaultChecked;

function attributes(from, to) {
  for (const { name, value } of [...to.attributes]) {
    if (!owned(from, name) && from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    if (!owned(from, name) && !to.hasAttribute(name)) from.removeAttribute(name);
  }
}

// morph makes one element like another of the same name.
export function morph(from, to) {
  if (from.isEqualNode(to) || from.dataset?.own !== undefined) return;
  if (holds(from)) return hold(from, to);
  attributes(from, to);
  // Shown times are in the reader's zone; their text follows their attributes.
  if (to.dataset?.show || to.dataset?.zone !== undefined) return;
  if (from.localName === 'textarea') {
    if (from.value === from.defaultValue) from.defaultValue = to.defaultValue;
    return;
  }
  if (to.dataset?.waits !== undefined) return rows(from, to);
  children(from, to);
}

const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || '') === (b.id || '');

function children(from, to) {
  const keyed = new Map();
  for (const c of from.children) if (c.id) keyed.set(c.id, c);
  const wanted = new Set([...to.children].map(c => c.id).filter(Boolean));
  let here = from.firstChild;
  for (const want of [...to.childNodes]) {
    // What is not wanted any more goes first, so that what stays need not move.
    while (here && here.id && !wanted.has(here.id)) here = drop(here);
    let match = want.id ? keyed.get(want.id) : here;
    if (match && !alike(match, want)) match = null;
    if (!match) {
      from.insertBefore(want, here);
    } else {
      if (match === here) here = here.nextSibling;
      else move(from, match, here);
      become(match, want);
    }
  }
  while (here) here = drop(here);
}

function drop(node) {
  const next = node.nextSibling;
  if (node.dataset?.own === undefined) node.remove();
  return next;
}

function move(parent, node, before) {
  if (parent.moveBefore) parent.moveBefore(node, before);
  else parent.insertBefore(node, before);
}

function become(node, want) {
  if (node.nodeType === Node.ELEMENT_NODE) morph(node, want);
  else if (node.data !== want.data) node.data = want.data;
}

// Lists whose new rows wait behind a button.
const waiting = new Map();
const mostRows = 200;
let filling = null; // a list that was empty when this patch began
let told = 0;

// rows updates a list in place: no row moves or vanishes under the reader.
function rows(list, to) {
  attributes(list, to);
  for (const want of [...to.children]) {
    const row = document.getElementById(want.id);
    if (row) morph(row, want);
    else offer(list, want);
  }
}

// offer lets a row wait, or shows it at once in a list that was empty.
export function offer(list, row) {
  if (list.rows.length === 0 || list === filling) {
    if (!filling) setTimeout(() => { filling = null; });
    filling = list;
    list.append(row);
    return;
  }
  waiting.delete(row.id);
  waiting.set(row.id, row);
  if (waiting.size > mostRows) waiting.delete(waiting.keys().next().value);
  if (!told) told = setTimeout(tell, 300);
}

function tell() {
  told = 0;
  const button = document.getElementById('waiting');
  if (!button) return;
  const n = waiting.size;
  button.hidden = n === 0;
  button.textContent = `${n}${n === mostRows ? '+' : ''} new`;
}

const number = row => BigInt(row.id.slice('row-'.length));

// admit shows the rows that wait, newest first, and lets the oldest go. It
// returns the rows shown.
export function admit() {
  const list = document.querySelector('[data-waits]');
  if (!list) return [];
  const fresh = [...waiting.values()].sort((a, b) => (number(a) < number(b) ? 1 : -1));
  waiting.clear();
  list.prepend(...fresh);
  // What is ticked stays, however far down it comes.
  for (let i = list.rows.length - 1; i >= mostRows; i--) if (!list.rows[i].querySelector('.tick:checked')) list.rows[i].remove();
  tell();
  return fresh;
}
