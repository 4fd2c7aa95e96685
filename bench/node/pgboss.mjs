// pg-boss with two loops that fetch 500 jobs, call for all of them and complete
// them in one statement: its own polling waits half a second between batches.
import { PgBoss } from 'pg-boss'
import { beginSoon, done, failed, payloads, post, task } from './child.mjs'

const queue = 'call'

async function main() {
  const boss = new PgBoss({ connectionString: task.Database, max: 10 })
  boss.on('error', failed)
  await boss.start()
  await boss.createQueue(queue)
  const at = await beginSoon()
  await boss.insert(queue, payloads(at).map(data => ({ data })))
  let completed = 0
  const loop = async () => {
    while (completed < task.Runs) {
      const jobs = await boss.fetch(queue, { batchSize: 500 })
      if (jobs.length === 0) return
      await Promise.all(jobs.map(j => post(j.data)))
      await boss.complete(queue, jobs.map(j => j.id))
      completed += jobs.length
    }
  }
  await Promise.all([loop(), loop()])
  await done()
}

main().catch(failed)
