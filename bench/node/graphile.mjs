// graphile-worker with everything that it has for throughput: jobs fetched 500
// at a time into a local queue, completions gathered for 5 ms, statements
// prepared. It deletes a job when it is finished, so it keeps no history.
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { beginSoon, done, failed, payloads, post, task } from './child.mjs'

const logger = new Logger(() => () => {})

async function main() {
  const utils = await makeWorkerUtils({ connectionString: task.Database, logger })
  await utils.migrate()
  let called = 0
  const runner = await run({
    preset: {
      worker: {
        connectionString: task.Database,
        maxPoolSize: 10,
        concurrentJobs: 100,
        pollInterval: 100,
        preparedStatements: true,
        localQueue: { size: 500 },
        completeJobBatchDelay: 5,
        failJobBatchDelay: 5,
      },
    },
    logger,
    noHandleSignals: true,
    taskList: {
      call: async payload => {
        await post(payload)
        called++
      },
    },
  })
  runner.promise.catch(failed)
  const at = await beginSoon()
  await utils.addJobs(payloads(at).map(payload => ({ identifier: 'call', payload })))
  const left = () => utils.withPgClient(c => c.query('SELECT 1 FROM graphile_worker._private_jobs LIMIT 1'))
  while (called < task.Runs || (await left()).rowCount > 0) {
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await done()
}

main().catch(failed)
