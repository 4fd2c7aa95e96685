package jobs

import "time"

const (
	// PurgeJobID is the ID of the job that every registry has: the nightly removal of
	// expired keys and old runs. Its runs are in the ledger like those of other jobs.
	// Cleanup sets its schedule, and can disable it.
	PurgeJobID = "purge-expired-keys"
	// BuiltinTarget is the target of built-in jobs, which run in the executor's
	// process. No declared target can have this name.
	BuiltinTarget = "cronce"
)

// builtinPath is where the purge would be if it were called over HTTP; it
// names the work in listings and keeps the job's key scope its own.
const builtinPath = "/purge-expired-keys"

// purgeJob returns the built-in job. The purge itself is safe to repeat and bounded
// by its timeout, so a missed night is caught up once and never queued.
func purgeJob(c Cleanup) Job {
	return Job{
		ID:            PurgeJobID,
		Schedule:      c.Schedule,
		Timezone:      "UTC",
		Target:        BuiltinTarget,
		Path:          builtinPath,
		Timeout:       c.Timeout,
		Retry:         Retry{Backoff: []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute}},
		Overlap:       OverlapSkip,
		CatchUp:       CatchUpLatest,
		CatchUpWindow: 24 * time.Hour,
		Disabled:      c.DisabledBecause != "",
	}
}
