// What the scripts of all Node peers share: they are called with a verb and its
// parameters as JSON, and print one JSON value.
import pg from "pg";

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const now = () => performance.now();

export function pool(url, max = 20) {
  const p = new pg.Pool({ connectionString: url, max });
  p.on("error", () => {}); // the database is dropped under idle connections
  return p;
}

export async function main(verbs) {
  const [, , verb, params] = process.argv;
  const answer = await verbs[verb](JSON.parse(params));
  await new Promise((resolve) => process.stdout.write(JSON.stringify(answer ?? null) + "\n", resolve));
  process.exit(0);
}

export const since = (jobs, start) => ({ jobs, seconds: (now() - start) / 1000 });

export async function inBulk(n, size, enqueue) {
  const start = now();
  for (let left = n; left > 0; left -= size) await enqueue(Math.min(left, size));
  return since(n, start);
}

export async function fromClients(clients, n, enqueue) {
  const start = now();
  let left = n;
  const client = async () => {
    while (left-- > 0) await enqueue();
  };
  await Promise.all(Array.from({ length: clients }, client));
  return since(n, start);
}

// untilStored waits for the handlers of n jobs, then for their outcomes, and
// gives up at the limit (in ms), with what was done by then.
export async function untilStored(n, limit, done, unstored) {
  const start = now();
  while (done() < n && now() - start < limit) await pause(1);
  if (done() < n) return since(done(), start);
  while ((await unstored()) > 0) await pause(2);
  return since(n, start);
}

// latencies enqueues n jobs at a rate and returns how long each took, in ms.
// The first ones are not counted, as with every other contestant.
export async function latencies(n, perSecond, warmUp, arrivals, enqueue) {
  n += warmUp;
  const took = new Array(n).fill(null);
  const sent = new Array(n);
  let missing = n;
  arrivals((i) => {
    if (took[i] === null) {
      took[i] = now() - sent[i];
      missing--;
    }
  });
  await pause(500);
  const start = now();
  const calls = [];
  for (let i = 0; i < n; i++) {
    const wait = start + (i / perSecond) * 1000 - now();
    if (wait > 0) await pause(wait);
    sent[i] = now();
    calls.push(enqueue(i));
  }
  await Promise.all(calls);
  for (const patience = now() + 60000; missing > 0 && now() < patience; ) await pause(5);
  if (missing > 0) throw new Error(`${missing} jobs were never started`);
  return took.slice(warmUp);
}
