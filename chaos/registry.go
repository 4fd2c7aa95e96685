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
	path         string // after the job; "": none
	each         string // "": it has no members
}

// specs are the jobs. Every kind of overlap and two of the catch-ups are among
// them; "slow" works for longer than its calls wait, and memberJob has members.
var specs = []jobSpec{
	{id: "payroll", schedule: "* * * * * *", overlap: "allow", catchUp: "all"},
	{id: "locks", schedule: "* * * * * *", overlap: "allow", catchUp: "all"},
	{id: "ledger-close", schedule: "*/2 * * * * *", overlap: "queue", catchUp: "all"},
	{id: "slow", schedule: "*/5 * * * * *", overlap: "skip", catchUp: "latest"},
	{id: "newest", schedule: "*/2 * * * * *", overlap: "allow", catchUp: "latest"},
	{id: "moved", kind: edited, overlap: "allow", catchUp: "all"},
	{id: "cloud", schedule: "*/2 * * * * *", kind: constant, overlap: "allow", catchUp: "all"},
	{id: "season", schedule: "* * * * * *", kind: seasonal, overlap: "allow", catchUp: "all"},
	{
		id: memberJob, schedule: "*/3 * * * * *", overlap: "allow", catchUp: "latest", path: "/{{key}}",
		each: "{ path: /tenants, items: tenants, inFlight: 8 }",
	},
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
    path: "/apply/%s%s"
    body: { revision: %d, schedule: %q }
    overlap: %s
    catchUp: %s
    timeout: 1s
    retry: { backoff: [%s] }
`

// stormJob is a template that each revision edits. Functions do not have it.
const stormJob = `  - id: %s
    keyed: { max: %d }
    target: service
    path: "/apply/%s/{{key}}"
    body: { revision: %d, number: "{{data.number}}" }
    overlap: allow
    catchUp: all
    timeout: 1s
    retry: { backoff: [%s] }
`

const retries = 50

var waits = "100ms, 300ms" + strings.Repeat(", 1s", retries-2)

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
		fmt.Fprintf(&b, registryJob, s.id, schedule, s.id, s.path, named, schedule, s.overlap, s.catchUp, waits)
		if s.each != "" {
			fmt.Fprintf(&b, "    each: %s\n", s.each)
		}
	}
	return b.String()
}

func writeRegistry(path string, revision int) error {
	text := registryText(revision) + fmt.Sprintf(stormJob, stormTemplate, stormMax, stormTemplate, revision, waits)
	return os.WriteFile(path, []byte(text), 0o600)
}

func specOf(id string) (jobSpec, bool) {
	for _, s := range specs {
		if s.id == id {
			return s, true
		}
	}
	return jobSpec{}, false
}
