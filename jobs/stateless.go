package jobs

// Stateless lists the problems of running the registry without a ledger, as a
// Lambda without CRONCE_DATABASE_URL does: without a ledger nothing stores that a
// target accepted a run, so targets of jobs with async cannot be asked again; pings
// of heartbeats are runs in a ledger; and nothing waits for the delay of a spread.
// The registry itself remains valid.
func (r *Registry) Stateless() Problems {
	found := Problems{}
	for _, j := range r.All() {
		if j.Disabled {
			continue
		}
		if j.Spread > 0 {
			found = append(found, r.JobProblem(j.ID, "spread", CodeNeedsLedger,
				"spread needs a ledger, whose ticks wait for the delay; give the function one (CRONCE_DATABASE_URL), or remove spread"))
		}
		if j.Async != (Async{}) {
			found = append(found, r.JobProblem(j.ID, "async", CodeNeedsLedger,
				"async needs a ledger that remembers what the target accepted; give the function one (CRONCE_DATABASE_URL), or remove async"))
		}
		if j.HeartbeatURLEnv != "" {
			found = append(found, r.JobProblem(j.ID, "heartbeat", CodeNeedsLedger,
				"heartbeat needs a ledger that holds its pings; give the function one (CRONCE_DATABASE_URL), or remove heartbeat"))
		}
	}
	found.Sort()
	return found
}
