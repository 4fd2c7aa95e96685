package postgres

// freeSlots are the jobs whose slot is free, or that have a free place, while runs wait for it,
// found by hopping from one waiting job to the next over the index: a job with ten
// thousand waiting runs costs no more than one with a single run. It completes
// WITH RECURSIVE.
const freeSlots = `
	waiting AS (
		(SELECT w.job_id FROM runs w WHERE w.waiting ORDER BY w.job_id LIMIT 1)
		UNION ALL
		SELECT (SELECT w.job_id FROM runs w WHERE w.waiting AND w.job_id > waiting.job_id ORDER BY w.job_id LIMIT 1)
		FROM waiting WHERE waiting.job_id IS NOT NULL
	), places AS MATERIALIZED (
		SELECT job_id, (` + placesOf + `waiting.job_id || '@' AND p.slot < waiting.job_id || 'A') AS taken FROM waiting WHERE job_id IS NOT NULL
	), free AS (
		SELECT job_id FROM places j
		WHERE EXISTS (SELECT FROM runs w WHERE w.waiting AND w.job_id = j.job_id AND w.pace = 0)
				AND NOT EXISTS (SELECT FROM runs h WHERE h.slot = j.job_id)
			OR EXISTS (SELECT FROM runs w WHERE w.waiting AND w.job_id = j.job_id AND w.pace > j.taken)
			OR EXISTS (SELECT FROM runs w WHERE w.waiting AND w.job_id = j.job_id AND w.pace < -j.taken)
	)`

const placesOf = `SELECT count(*)::int FROM runs p WHERE p.slot > `

// pacedRuns reads each kind in the order of the index, from its end for the newest first.
const pacedRuns = `
	WITH places AS MATERIALIZED (SELECT (` + placesOf + `$1 || '@' AND p.slot < $1 || 'A') AS taken)
	(SELECT run_id, state, pace, (SELECT taken FROM places) FROM runs
		WHERE waiting AND job_id = $1 AND pace > (SELECT taken FROM places) ORDER BY pace, scheduled_at LIMIT $2)
	UNION ALL
	(SELECT run_id, state, pace, (SELECT taken FROM places) FROM runs
		WHERE waiting AND job_id = $1 AND pace < -(SELECT taken FROM places) ORDER BY pace DESC, scheduled_at DESC LIMIT $2)`
