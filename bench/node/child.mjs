// A child of the benchmark in Node.js: the task comes in BENCH_TASK, the lines
// that ../rig reads go to standard output, and the parent ends it by closing
// standard input.
import { Pool } from 'undici'

export const task = JSON.parse(process.env.BENCH_TASK)

const say = line => process.stdout.write(JSON.stringify(line) + '\n')
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

// beginSoon tells when the work begins; it returns then.
export async function beginSoon() {
  const at = new Date(Date.now() + 1000)
  say({ At: at.toISOString() })
  await sleep(at - Date.now())
  return at.toISOString().slice(0, 19) + 'Z'
}

// done tells that all outcomes are stored, and waits for the parent.
export async function done() {
  say({ Report: null })
  await new Promise(resolve => process.stdin.on('close', resolve).resume())
  process.exit(0)
}

export function failed(err) {
  say({ Error: String(err?.stack ?? err) })
  process.exit(1)
}

// 32 kept-alive connections, as many as the other contenders have.
const target = new Pool(task.Target, { connections: 32, pipelining: 1 })

// post makes the call of a run as cronce does: the same body, the run's key, a
// deadline. What is not a 2xx is an error.
export async function post({ job, at }) {
  const id = `${job}@${at}`
  const { statusCode, body } = await target.request({
    path: '/run',
    method: 'POST',
    headersTimeout: 30_000,
    headers: { 'content-type': 'application/json', 'idempotency-key': id },
    body: JSON.stringify({ jobId: job, runId: id, scheduledAt: at }),
  })
  await body.dump()
  if (statusCode < 200 || statusCode > 299) throw new Error(`the target answered ${statusCode}`)
}

// payloads are the jobs to be stored.
export const payloads = at =>
  Array.from({ length: task.Runs }, (_, i) => ({ job: `job-${String(i).padStart(6, '0')}`, at }))
