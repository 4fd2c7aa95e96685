package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// listed is the number of jobs that a message of many incidents names.
const listed = 20

// addGroup adds the facts of a message of many incidents.
func (m Message) addGroup(add func(name, value string)) {
	jobIDs, since, problems := []string{m.Incident.JobID}, m.Incident.OpenedAt, m.Incident.Count
	for _, o := range m.Others {
		jobIDs = append(jobIDs, o.Incident.JobID)
		problems += o.Incident.Count
		if o.Incident.OpenedAt.Before(since) {
			since = o.Incident.OpenedAt
		}
	}
	slices.Sort(jobIDs)
	more := ""
	if n := len(jobIDs) - listed; n > 0 {
		jobIDs, more = jobIDs[:listed], fmt.Sprintf(" and %d more", n)
	}
	add("jobs", strings.Join(jobIDs, ", ")+more)
	add("since", since.UTC().Format(time.RFC3339))
	add("problems", fmt.Sprint(problems))
	add("last error", m.Incident.Error)
	add("dashboard", m.Home)
	command := "cronce incidents list"
	if m.Event == Recovered {
		command += " --closed"
	}
	add("command", command)
}
