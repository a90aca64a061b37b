import { PgBoss } from "pg-boss";
import { fromClients, inBulk, latencies, main, pause, pool, untilStored } from "./common.mjs";

async function started(url, options = {}) {
  const boss = new PgBoss({ connectionString: url, max: 20, ...options });
  boss.on("error", () => {});
  await boss.start();
  return boss;
}

await main({
  async schema({ url, queue }) {
    const boss = await started(url);
    await boss.createQueue("noop", queue);
    await boss.createQueue("timed", queue);
  },

  async bulk({ url, jobs, size }) {
    const boss = await started(url);
    return inBulk(jobs, size, (n) => boss.insert("noop", Array.from({ length: n }, () => ({ data: {} }))));
  },

  async single({ url, jobs, clients }) {
    const boss = await started(url);
    return fromClients(clients, jobs, () => boss.send("noop", {}));
  },

  async drain({ url, jobs, limit, settings, options }) {
    const boss = await started(url, options);
    const pgPool = pool(url, 1);
    await pgPool.query("select 1");
    let done = 0;
    const working = boss.work("noop", settings, async (batch) => void (done += batch.length));
    return untilStored(jobs, limit, () => done, async () => {
      await working;
      const { rows } = await pgPool.query("select count(*)::int as n from pgboss.job where name = 'noop' and state < 'completed'");
      return rows[0].n;
    });
  },

  async latency({ url, jobs, perSecond, warmUp, settings, options }) {
    const boss = await started(url, options);
    let arrived;
    await boss.work("timed", settings, async (batch) => batch.forEach((job) => arrived(job.data.i)));
    return latencies(jobs, perSecond, warmUp, (f) => (arrived = f), (i) => boss.send("timed", { i }));
  },

  // A fetches a job and is paused past its expiry; the supervisor gives the job
  // back; B fetches it; A completes late, by the id alone or with what it fetched.
  async late({ url, whole }) {
    const boss = await started(url, { supervise: false, monitorIntervalSeconds: 1, maintenanceIntervalSeconds: 1 });
    await boss.createQueue("slow", { expireInSeconds: 1, retryLimit: 5, retryDelay: 0 });
    const id = await boss.send("slow", {});
    const [a] = await boss.fetch("slow", { includeMetadata: true });
    let b;
    for (let i = 0; i < 60 && !b; i++) {
      await pause(500);
      await boss.supervise("slow");
      [b] = await boss.fetch("slow", { includeMetadata: true });
    }
    if (!b) throw new Error("the expired job was not given back");
    const which = (job) => (whole ? job : job.id);
    const late = await boss.complete("slow", which(a), { by: "A" });
    const own = await boss.complete("slow", which(b), { by: "B" });
    const { rows } = await pool(url, 1).query("select state, output from pgboss.job where id = $1", [id]);
    return {
      accepted: rows[0].output?.by === "A",
      what: `A's late call changed ${late.affected} rows, B's own ${own.affected}; stored: ${rows[0].state} by ${rows[0].output?.by}`,
    };
  },
});
