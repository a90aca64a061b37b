// Times. What time it is now comes from the database and from the monotonic
// clock only, never from the browser's wall clock. The browser gives its zone.

let base = NaN;
let at = 0;

// set takes a time that the database just sent.
export function set(iso) {
  const t = Date.parse(iso);
  if (Number.isNaN(t) || t <= 0) return;
  base = t;
  at = performance.now();
}

// now is the database's time, in milliseconds.
export const now = () => base + performance.now() - at;

const two = n => String(n).padStart(2, '0');
const date = d => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
const hm = d => `${two(d.getHours())}:${two(d.getMinutes())}`;
const hms = d => `${hm(d)}:${two(d.getSeconds())}`;
const ms = d => `${hms(d)}.${String(d.getMilliseconds()).padStart(3, '0')}`;
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const day = d => `${months[d.getMonth()]} ${d.getDate()}`;

// offset names the zone's offset where the clocks change within two hours, so
// that the two half past twos of that night can be told apart.
function offset(d) {
  const off = t => new Date(t).getTimezoneOffset();
  const here = off(d);
  if (off(+d - 72e5) === here && off(+d + 72e5) === here) return '';
  const m = Math.abs(here);
  return ` ${here > 0 ? '−' : '+'}${two(Math.floor(m / 60))}:${two(m % 60)}`;
}

// span writes a distance as the server does.
export function span(d) {
  const s = Math.floor(Math.abs(d) / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${two(s % 60)} s`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} m`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s / 3600) % 24} h`;
}

function countdown(left) {
  if (left <= 0) return left > -1000 ? '00:00' : `passed ${span(left)} ago`;
  const s = Math.floor(left / 1000);
  const tail = `${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
  return s >= 3600 ? `${Math.floor(s / 3600)}:${tail}` : tail;
}

function relative(d) {
  const away = +d - now();
  if (Math.abs(away) > 2 * 864e5) return `${date(d)} ${hm(d)}${offset(d)}`;
  if (away > 0) return `in ${span(away)}`;
  return away > -1000 ? 'just now' : `${span(away)} ago`;
}

const today = d => date(d) === date(new Date(now()));

const shows = {
  clock: d => (today(d) ? '' : `${date(d)} `) + ms(d) + offset(d),
  moment: d => (today(d) ? '' : `${date(d)} `) + hms(d) + offset(d),
  ago: relative,
  until: d => countdown(+d - now()),
  'tick-ms': d => ms(d),
  'tick-s': d => hms(d) + offset(d),
  'tick-m': d => hm(d) + offset(d),
  'tick-d': d => day(d),
  'tick-dm': d => `${day(d)} ${hm(d)}${offset(d)}`,
};

// write changes a text, but not under a selection.
function write(el, text) {
  if (el.textContent === text) return;
  const chosen = getSelection();
  if (chosen && !chosen.isCollapsed && chosen.containsNode(el, true)) return;
  el.textContent = text;
}

function show(el) {
  const d = new Date(el.dataset.at || el.getAttribute('datetime'));
  const how = shows[el.dataset.show];
  if (how && !Number.isNaN(+d) && !Number.isNaN(base)) write(el, how(d));
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'local time';

// localise shows every time below an element in the reader's zone.
export function localise(root) {
  root.querySelectorAll('[data-show]').forEach(show);
  root.querySelectorAll('[data-zone]').forEach(el => write(el, zone));
  tick();
}

// tick moves what moves with time.
export function tick() {
  if (document.hidden || Number.isNaN(base)) return;
  document.querySelectorAll('[data-show=ago],[data-show=until]').forEach(show);
  document.querySelectorAll('progress[data-until]').forEach(drain);
  advance(document.getElementById('now'), document.getElementById('held'));
}

// drain empties the bar of a lease, and says once when the lease has passed.
let passed = '';

function drain(bar) {
  const left = Date.parse(bar.dataset.until) - now();
  bar.value = Math.max(0, left);
  if (left > -1000 || passed === bar.dataset.until) return;
  passed = bar.dataset.until;
  dispatchEvent(new Event('lease-passed'));
}

// advance moves now along the axis, and the holder's lane with it until its
// lease ends.
function advance(line, held) {
  if (!line) return;
  const moved = Math.max(0, (now() - Date.parse(line.dataset.at)) / 1000 * +line.dataset.perSecond);
  const within = room => Math.min(+room, moved);
  line.setAttribute('transform', `translate(${within(line.dataset.room).toFixed(1)} 0)`);
  held?.setAttribute('width', (+held.dataset.from + within(held.dataset.room)).toFixed(1));
}
