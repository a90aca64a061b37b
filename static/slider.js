// The slider of the triage page: a range over a day beside the field of its form,
// which works without it.

const form = document.getElementById('slider');

const pad = n => String(n).padStart(2, '0');

// minute is a time as the field writes it, in UTC.
function minute(at) {
  return `${at.getUTCFullYear()}-${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())}T${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}`;
}

export function start() {
  if (!form) return;
  const field = form.querySelector('[name=at]');
  const range = form.querySelector('[type=range]');
  const from = Date.parse(`${range.dataset.from}Z`);
  const chosen = () => minute(new Date(from + range.value * 60000));
  range.setAttribute('aria-valuetext', `${field.value} UTC`);
  range.addEventListener('input', () => {
    field.value = chosen() > field.max ? field.max : chosen();
    range.setAttribute('aria-valuetext', `${field.value} UTC`);
  });
  // Keys move minute by minute, and Enter looks; a pointer looks where it lets go.
  range.addEventListener('pointerup', () => range.value !== range.defaultValue && form.requestSubmit());
  range.hidden = false;
}
