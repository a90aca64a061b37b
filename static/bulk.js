// The bar for acting on many jobs: it says how many are ticked, and ticks all
// rows of the page at once.

const ticks = () => [...document.querySelectorAll('.tick')].filter(t => t.form);

function count() {
  const bar = document.getElementById('bulk');
  if (!bar) return;
  const n = ticks().filter(t => t.checked).length;
  const text = document.getElementById('ticked');
  const said = n === 0 ? text.dataset.none : `${n} ticked`;
  if (text.textContent !== said) text.textContent = said;
  bar.querySelectorAll('[data-ticked]').forEach(b => { b.disabled = n === 0; });
  const all = document.getElementById('tick-all');
  if (all) {
    all.checked = n > 0 && n === ticks().length;
    all.indeterminate = n > 0 && !all.checked;
  }
}

// start follows the ticks. New rows count when they are shown.
export function start() {
  const bar = document.getElementById('bulk');
  if (!bar) return;
  const text = document.getElementById('ticked');
  text.dataset.none = text.textContent;
  const all = document.createElement('label');
  all.className = 'check';
  all.innerHTML = '<input id="tick-all" type="checkbox" autocomplete="off"> All on this page';
  bar.prepend(all);
  document.addEventListener('change', e => {
    if (e.target.id === 'tick-all') ticks().forEach(t => { t.checked = e.target.checked; });
    if (e.target.id === 'tick-all' || e.target.matches('.tick')) count();
  });
  addEventListener('pageshow', count);
  count();
}
