package jobs

// CheckWithoutLedger returns the problems of running the registry without a ledger, as
// a Lambda without CRONCE_DATABASE_URL does: enabled jobs with async, heartbeat,
// spread or keyed. A ledger stores which runs a target has accepted, and the pings of
// heartbeats. It also lets runs wait for the delay of their spread. The registry itself
// remains valid.
func (r *Registry) CheckWithoutLedger() Problems {
	found := Problems{}
	for j := range r.JobsAndTemplates() {
		if j.Disabled {
			continue
		}
		if _, template := r.Template(j.ID); template {
			found = append(found, r.JobProblem(j.ID, "keyed", codeNeedsLedger,
				"keyed needs a ledger that holds the schedules; give the function one (CRONCE_DATABASE_URL), or remove the job"))
		}
		if j.Spread > 0 {
			found = append(found, r.JobProblem(j.ID, "spread", codeNeedsLedger,
				"spread needs a ledger, whose ticks wait for the delay; give the function one (CRONCE_DATABASE_URL), or remove spread"))
		}
		if j.Async != (Async{}) {
			found = append(found, r.JobProblem(j.ID, "async", codeNeedsLedger,
				"async needs a ledger that remembers what the target accepted; give the function one (CRONCE_DATABASE_URL), or remove async"))
		}
		if j.HeartbeatURLEnv != "" {
			found = append(found, r.JobProblem(j.ID, "heartbeat", codeNeedsLedger,
				"heartbeat needs a ledger that holds its pings; give the function one (CRONCE_DATABASE_URL), or remove heartbeat"))
		}
	}
	found.Sort()
	return found
}
