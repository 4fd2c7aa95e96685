package chaos

import (
	"fmt"
	"os"
	"strings"
)

// kind is how a job changes over the revisions of the registry.
type kind int

const (
	steady   kind = iota // its schedule stays; its body names the revision
	edited               // its schedule alternates; its body says which it is
	seasonal             // it is there in even revisions only
	constant             // it stays as it is
)

type jobSpec struct {
	id, schedule string
	kind         kind
	overlap      string
	catchUp      string
}

// specs are the jobs. Every kind of overlap and two of the catch-ups are among
// them; "slow" works for longer than its calls wait.
var specs = []jobSpec{
	{"payroll", "* * * * * *", steady, "allow", "all"},
	{"locks", "* * * * * *", steady, "allow", "all"},
	{"ledger-close", "*/2 * * * * *", steady, "queue", "all"},
	{"slow", "*/5 * * * * *", steady, "skip", "latest"},
	{"newest", "*/2 * * * * *", steady, "allow", "latest"},
	{"moved", "", edited, "allow", "all"},
	{"cloud", "*/2 * * * * *", constant, "allow", "all"},
	{"season", "* * * * * *", seasonal, "allow", "all"},
}

// movedSchedules are what the edited job's revisions alternate between.
var movedSchedules = []string{"* * * * * *", "*/3 * * * * *"}

const registryHead = `version: 1
name: chaos
targets:
  service: { urlEnv: SERVICE_URL, auth: { type: bearer, token: { env: SERVICE_TOKEN } } }
jobs:
`

// A run must outlive every fault, so there are many retries; the waits are
// short so that a run of the harness is.
const registryJob = `  - id: %s
    schedule: %q
    target: service
    path: /apply/%s
    body: { revision: %d, schedule: %q }
    overlap: %s
    catchUp: %s
    timeout: 1s
    retry: { backoff: [%s] }
`

const retries = 50

func registryText(revision int) string {
	var b strings.Builder
	b.WriteString(registryHead)
	for _, s := range specs {
		schedule, named := s.schedule, revision
		switch s.kind {
		case edited:
			schedule = movedSchedules[revision%len(movedSchedules)]
		case seasonal:
			if revision%2 != 0 {
				continue
			}
		case constant:
			named = 0
		}
		waits := "100ms, 300ms" + strings.Repeat(", 1s", retries-2)
		fmt.Fprintf(&b, registryJob, s.id, schedule, s.id, named, schedule, s.overlap, s.catchUp, waits)
	}
	return b.String()
}

func writeRegistry(path string, revision int) error {
	return os.WriteFile(path, []byte(registryText(revision)), 0o600)
}

func specOf(id string) (jobSpec, bool) {
	for _, s := range specs {
		if s.id == id {
			return s, true
		}
	}
	return jobSpec{}, false
}
