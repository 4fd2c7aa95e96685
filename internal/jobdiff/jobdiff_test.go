package jobdiff_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/internal/jobdiff"
	"github.com/cronce/cronce/jobs"
)

// An edit of a heartbeat is a new definition, which the comparison shows.
func TestAnEditOfAHeartbeatIsShown(t *testing.T) {
	sides := make([]jobdiff.Side, 0, 2)
	for _, beat := range []string{"", ", heartbeat: { urlEnv: HC_A }"} {
		r, err := jobs.Parse("cronce.yaml", []byte("name: acme\njobs:\n  - { id: a, schedule: \"* * * * *\", targetUrlEnv: SVC, path: /a"+beat+" }\n"))
		if err != nil {
			t.Fatal(err)
		}
		side, err := jobdiff.Of(r)
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, side)
	}
	var fields []jobdiff.Field
	for _, j := range jobdiff.Compare(sides[0], sides[1], time.Now(), 0).Jobs {
		fields = append(fields, j.Fields...)
	}
	if len(fields) != 1 || fields[0] != (jobdiff.Field{Field: "heartbeat", Old: "none", New: "HC_A"}) {
		t.Errorf("differences %+v", fields)
	}
}
