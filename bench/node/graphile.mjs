import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import { fromClients, inBulk, latencies, main, now, pause, pool, untilStored } from "./common.mjs";

const logger = new Logger(() => () => {});

async function withUtils(url, work) {
  const pgPool = pool(url);
  const utils = await makeWorkerUtils({ pgPool, logger });
  try {
    return await work(utils, pgPool);
  } finally {
    await utils.release();
  }
}

const start = (pgPool, settings, taskList) =>
  run({ pgPool, taskList, noHandleSignals: true, crontab: "", preset: { worker: { logger, ...settings } } });

await main({
  schema: ({ url }) => runMigrations({ connectionString: url, logger }),

  bulk: ({ url, jobs, size }) =>
    withUtils(url, (utils) =>
      inBulk(jobs, size, (n) => utils.addJobs(Array.from({ length: n }, () => ({ identifier: "noop", payload: {} })))),
    ),

  single: ({ url, jobs, clients }) =>
    withUtils(url, (utils) => fromClients(clients, jobs, () => utils.addJob("noop", {}))),

  async drain({ url, jobs, limit, settings }) {
    const pgPool = pool(url);
    let done = 0;
    const runner = start(pgPool, settings, { noop: () => void done++ });
    return untilStored(jobs, limit, () => done, async () => {
      await runner;
      const { rows } = await pgPool.query("select count(*)::int as n from graphile_worker._private_jobs");
      return rows[0].n;
    });
  },

  async latency({ url, jobs, perSecond, warmUp, settings }) {
    let arrived;
    await start(pool(url), settings, { timed: (payload) => arrived(payload.i) });
    return withUtils(url, (utils) =>
      latencies(jobs, perSecond, warmUp, (f) => (arrived = f), (i) => utils.addJob("timed", { i })),
    );
  },

  // A takes a job and is slow; an operator unlocks what A held, as the manual
  // says for workers that seem to have crashed; B takes the job; A ends late.
  late: ({ url }) =>
    withUtils(url, async (utils, pgPool) => {
      const job = await utils.addJob("slow", {});
      const row = async () => (await pgPool.query("select attempts, locked_by from graphile_worker._private_jobs where id = $1", [job.id])).rows[0];
      const worker = () => {
        const at = {};
        at.began = new Promise((resolve) => (at.begin = resolve));
        at.end = new Promise((resolve) => (at.finish = resolve));
        start(pool(url), { pollInterval: 200 }, { slow: async () => (at.begin(), await at.end) });
        return at;
      };
      const a = worker();
      await a.began;
      const held = (await row()).locked_by;
      await utils.forceUnlockWorkers([held]);
      const b = worker();
      await b.began;
      const before = await row();
      a.finish();
      let after = before;
      for (const patience = now() + 10000; after && now() < patience; await pause(50)) after = await row();
      b.finish();
      return {
        accepted: after === undefined,
        what: after === undefined
          ? `A's completion deleted the job while B ran it as attempt ${before.attempts}`
          : `the job stayed with B (attempt ${after.attempts})`,
      };
    }),
});
