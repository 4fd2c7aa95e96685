package jobdiff_test

import (
	"encoding/json"
	"reflect"
	"strings"
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

const every = `name: acme
targets: { svc: { urlEnv: SVC_URL, key: { header: X-Key, form: uuid7 } } }
jobs:
  - id: a
    schedule: "* * * * *"
    target: svc
    path: /a
    scopes: [b]
    body: { c: d }
    spread: 30s
    headers: { X-E: f }
    maxInFlight: 2
    async: { within: 1h }
    alarm: { startWithin: 1m, finishWithin: 2h }
    description: g
    owner: h
    labels: { i: j }
    heartbeat: { urlEnv: HC }
    acknowledge: success
`

// A field that a new kind of edit changes in the stored definition is in the list of
// those that are compared.
func TestEachFieldOfADefinitionIsCompared(t *testing.T) {
	r, err := jobs.Parse("cronce.yaml", []byte(every))
	if err != nil {
		t.Fatal(err)
	}
	j, _ := r.Job("a")
	stored, _, err := j.Definition()
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(stored, &fields); err != nil {
		t.Fatal(err)
	}
	fields["each"] = map[string]any{} // which no job with maxInFlight has
	for _, name := range tags(reflect.TypeFor[jobs.Job]()) {
		if _, has := fields[name]; !has {
			t.Errorf("the job of this test has no %s", name)
		}
	}
	for name, value := range fields {
		switch name {
		case "v", "id", "registry", "keySafeFor": // the job's identity, and what follows from the registry
			continue
		}
		if !differs(t, stored, name, edited(name, value)) {
			t.Errorf("an edit of %s is not shown", name)
		}
	}
}

// tags are the names that the fields of a job have in a definition.
func tags(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported():
		case name != "" && name != "-":
			names = append(names, name)
		case f.Type.Kind() == reflect.Struct:
			names = append(names, tags(f.Type)...)
		}
	}
	return names
}

// edited is another value of a field.
func edited(name string, value any) any {
	other := map[string]any{"each": map[string]any{"path": "/list"}, "schedule": "@daily", "timezone": "Asia/Tokyo", "dst": "wall"}
	switch v := value.(type) {
	case float64:
		return v + 1
	case []any:
		return v[:len(v)-1]
	case map[string]any:
		if to, has := other[name]; has {
			return to
		}
		return map[string]any{"x": "y"}
	case string:
		if to, has := other[name]; has {
			return to
		}
		return v + "x"
	}
	return nil
}

func differs(t *testing.T, stored []byte, name string, value any) bool {
	t.Helper()
	var changed map[string]any
	if err := json.Unmarshal(stored, &changed); err != nil {
		t.Fatal(err)
	}
	changed[name] = value
	text, err := json.Marshal(changed)
	if err != nil {
		t.Fatal(err)
	}
	var old, edited jobdiff.Side
	for side, definition := range map[*jobdiff.Side][]byte{&old: stored, &edited: text} {
		if err := side.Add(definition); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return jobdiff.Compare(old, edited, time.Now(), 0).Changed
}
