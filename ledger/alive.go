package ledger

import "time"

// ProcessTTL is how long after its last heartbeat a process is considered alive. A later
// heartbeat makes it alive again. See IsAlive.
const ProcessTTL = 30 * time.Second

// IsAlive reports whether a process with this heartbeat is considered alive. A heartbeat
// that is ahead of the clock counts as one of the same distance behind it: no process is
// alive for longer than 2 * ProcessTTL without another heartbeat, whatever the clock said.
func IsAlive(heartbeat, now time.Time) bool {
	return now.Sub(heartbeat).Abs() <= ProcessTTL
}
