// The search of the jobs list. The line and the controls are one search: what
// is changed in one shows in the other, and what is typed is completed from the
// fields and from the values that the page knows. The server reads both.

const line = document.getElementById('line');
const form = document.getElementById('finder');

// terms splits a search at the spaces that stand outside quotes.
function terms(text) {
  return [...text.matchAll(/(?:"(?:\\.|[^"\\])*"?|[^\s"])+/g)].map(m => ({ text: m[0], start: m.index, end: m.index + m[0].length }));
}

const named = (term, field) => term.text.toLowerCase().startsWith(`${field}:`);
const controls = () => [...form.querySelectorAll('[data-field]')];

// quoted writes a value with spaces so that it stays one.
const quoted = value => (/\s/.test(value) && !value.startsWith('"') ? `"${value.replace(/["\\]/g, '\\$&')}"` : value);

// follow shows what the line says in the controls that nobody is typing in.
function follow() {
  const all = terms(line.value);
  for (const control of controls()) {
    if (control === document.activeElement) continue;
    const term = all.find(t => named(t, control.dataset.field));
    const value = term ? term.text.slice(control.dataset.field.length + 1) : '';
    if (control.localName === 'select' && ![...control.options].some(o => o.value === value)) {
      control.add(new Option(value, value));
    }
    control.value = value;
  }
}

// lead writes what a control says into the line.
function lead(control) {
  const { field } = control.dataset;
  const value = control.value.trim();
  const all = terms(line.value);
  const at = all.findIndex(t => named(t, field));
  const texts = all.map(t => t.text);
  if (value === '') {
    if (at >= 0) texts.splice(at, 1);
  } else {
    texts.splice(at < 0 ? texts.length : at, at < 0 ? 0 : 1, `${field}:${quoted(value)}`);
  }
  line.value = texts.join(' ');
}

// What can be completed: the fields, and the known values of each.
const words = id => [...document.querySelectorAll(`#${id} option`)].map(o => o.value).filter(Boolean);
const fields = new Map();

function learn() {
  for (const row of form.querySelectorAll('.search-help dl div')) {
    const example = row.querySelector('code').textContent;
    fields.set(example.split(/[.:]/)[0], { example, help: row.querySelector('dd').textContent.trim(), values: [] });
  }
  for (const control of controls()) {
    const field = fields.get(control.dataset.field);
    if (!field) continue;
    if (control.localName === 'select') field.values = [...control.options].map(o => o.value).filter(Boolean);
    else if (control.getAttribute('list')) field.values = words(control.getAttribute('list'));
  }
}

const most = 12;

// offersFor finds what could stand where the caret is: the text to put there,
// from where, and what it means.
function offersFor(text, caret) {
  const term = terms(text).find(t => t.start <= caret && caret <= t.end) ?? { text: '', start: caret, end: caret };
  const typed = text.slice(term.start, caret);
  const bare = typed.replace(/^-/, '');
  const from = caret - bare.length;
  const colon = bare.indexOf(':');
  if (colon < 0) {
    return [...fields].filter(([name]) => name.startsWith(bare.toLowerCase()))
      .map(([name, field]) => ({ put: name === 'args' ? 'args.' : `${name}:`, from, to: term.end, help: field.help }));
  }
  const field = fields.get(bare.slice(0, colon).toLowerCase());
  const value = bare.slice(colon + 1);
  const comma = value.startsWith('"') ? -1 : value.lastIndexOf(',');
  const begun = value.slice(comma + 1).replace(/^"/, '').toLowerCase();
  return (field?.values ?? []).filter(v => v.replace(/^"/, '').toLowerCase().startsWith(begun) && v !== value.slice(comma + 1))
    .map(v => ({ put: v, from: from + colon + 1 + comma + 1, to: term.end, help: '' }));
}

let list = null;
let offers = [];
let chosen = -1;

function close() {
  offers = [];
  list.hidden = true;
  line.setAttribute('aria-expanded', 'false');
  line.removeAttribute('aria-activedescendant');
}

function choose(n) {
  chosen = n;
  [...list.children].forEach((item, i) => item.setAttribute('aria-selected', String(i === n)));
  if (n < 0) return line.removeAttribute('aria-activedescendant');
  line.setAttribute('aria-activedescendant', list.children[n].id);
  list.children[n].scrollIntoView({ block: 'nearest' });
}

function offer() {
  offers = offersFor(line.value, line.selectionStart).slice(0, most);
  if (offers.length === 0) return close();
  list.replaceChildren(...offers.map((o, i) => {
    const item = document.createElement('li');
    item.id = `offer-${i}`;
    item.setAttribute('role', 'option');
    const text = document.createElement('bdi');
    text.textContent = o.put;
    const help = document.createElement('span');
    help.textContent = o.help;
    item.append(text, help);
    return item;
  }));
  list.hidden = false;
  line.setAttribute('aria-expanded', 'true');
  choose(-1);
}

function accept(n) {
  const { put, from, to } = offers[n];
  const after = /[:.]$/.test(put) ? '' : ' ';
  line.setRangeText(put + (line.value[to] === ' ' ? '' : after), from, to, 'end');
  follow();
  offer();
}

function pressed(e) {
  if (e.isComposing) return;
  const open = !list.hidden;
  if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
    if (!open) offer();
    if (list.hidden) return;
    const by = e.key === 'ArrowDown' ? 1 : -1;
    choose((chosen + by + offers.length + (chosen < 0 && by < 0 ? 1 : 0)) % offers.length);
  } else if (open && chosen >= 0 && (e.key === 'Enter' || e.key === 'Tab')) {
    accept(chosen);
  } else if (open && e.key === 'Escape') {
    close();
  } else {
    return;
  }
  e.preventDefault();
}

// start joins the line and the controls of the page, if it has them.
export function start() {
  if (!line) return;
  learn();
  list = document.createElement('ul');
  list.id = 'offers';
  list.className = 'offers';
  list.hidden = true;
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'What can be searched for');
  line.after(list);
  for (const [name, value] of [['role', 'combobox'], ['aria-autocomplete', 'list'], ['aria-controls', 'offers'], ['aria-expanded', 'false']]) {
    line.setAttribute(name, value);
  }
  line.addEventListener('input', () => { follow(); offer(); });
  line.addEventListener('keydown', pressed);
  line.addEventListener('blur', close);
  list.addEventListener('mousedown', e => {
    const at = [...list.children].indexOf(e.target.closest('li'));
    if (at >= 0) accept(at);
    e.preventDefault();
  });
  for (const control of controls()) {
    control.addEventListener('input', () => lead(control));
    control.addEventListener('change', () => lead(control));
  }
}
