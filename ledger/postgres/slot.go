package postgres

// freeSlots are the jobs whose slot is free while runs wait for it, found by
// hopping from one waiting job to the next over the index: a job with ten
// thousand waiting runs costs no more than one with a single run. It completes
// WITH RECURSIVE.
const freeSlots = `
	waiting AS (
		(SELECT w.job_id FROM runs w WHERE w.waiting ORDER BY w.job_id LIMIT 1)
		UNION ALL
		SELECT (SELECT w.job_id FROM runs w WHERE w.waiting AND w.job_id > waiting.job_id ORDER BY w.job_id LIMIT 1)
		FROM waiting WHERE waiting.job_id IS NOT NULL
	), free AS (
		SELECT job_id FROM waiting
		WHERE job_id IS NOT NULL AND NOT EXISTS (SELECT FROM runs h WHERE h.slot = waiting.job_id)
	)`
