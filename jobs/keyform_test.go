package jobs_test

import (
	"bufio"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cronce/cronce/jobs"
)

// Keys are kept by targets for as long as they like, so a form never changes: other
// programs may compute these keys too.
func TestKeysOfARunAreTheSameForEver(t *testing.T) {
	f, err := os.Open("testdata/keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	n := 0
	for ; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		runID, form, want := fields[0], jobs.KeyForm(fields[1]), fields[2]
		if got := form.Of(runID); got != want {
			t.Errorf("%s as %s: %s, want %s", runID, form, got, want)
		}
	}
	if n < 30 {
		t.Fatalf("%d vectors", n)
	}
}

var shapes = map[jobs.KeyForm]*regexp.Regexp{
	jobs.KeyUUID4:   regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
	jobs.KeyUUID7:   regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
	jobs.KeyHex32:   regexp.MustCompile(`^[0-9a-f]{32}$`),
	jobs.KeyToken22: regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`),
	jobs.KeyToken64: regexp.MustCompile(`^[A-Za-z0-9_-]{41,64}$`),
}

func TestAKeyHasItsFormAndLeadsBackToItsRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,63}`).Draw(t, "job")
		at := time.Unix(rapid.Int64Range(0, 32503679999).Draw(t, "at"), 0).UTC() // to the year 2999
		run := jobs.RunID(job, at)
		if rapid.Bool().Draw(t, "ad hoc") {
			run = jobs.RunIDWithToken(job, at, rapid.StringMatching(`[A-Za-z0-9._-]{1,36}`).Draw(t, "token"))
		}
		other := jobs.RunID(job+"x", at)
		for form, shape := range shapes {
			key := form.Of(run)
			if !shape.MatchString(key) {
				t.Fatalf("%s of %s: %s", form, run, key)
			}
			if told, ok := jobs.TimeOfKey(key); !ok || !told.Equal(at) {
				t.Fatalf("%s of %s has the time %v, %v", key, run, told, ok)
			}
			if !jobs.IsKeyOf(key, run) || form.Of(other) == key || len(job) < 64 && jobs.IsKeyOf(key, other) {
				t.Fatalf("%s is not the key of %s alone", key, run)
			}
		}
	})
}

func TestAKeyInCapitalsIsFoundIfItsFormIsHexadecimal(t *testing.T) {
	const run = "a@2026-11-21T03:00:00Z"
	for form, same := range map[jobs.KeyForm]bool{
		jobs.KeyUUID4: true, jobs.KeyUUID7: true, jobs.KeyHex32: true, jobs.KeyToken22: false, jobs.KeyToken64: false,
	} {
		key := strings.ToUpper(form.Of(run))
		if _, ok := jobs.TimeOfKey(key); same && !ok || jobs.IsKeyOf(key, run) != same {
			t.Errorf("%s of form %s: want found %v", key, form, same)
		}
	}
}

func TestARegistryRefusesKeysThatItsTargetWouldNotTake(t *testing.T) {
	const name = "release-commission-locks"
	for title, c := range map[string]struct {
		key    jobs.Key
		header string // of the job
		want   string // in the problem; empty: accepted
	}{
		"the default":                {},
		"another header":             {key: jobs.Key{Header: "X-Request-Key"}},
		"the limit is large enough":  {key: jobs.Key{Max: 82}},
		"a run ID is too long":       {key: jobs.Key{Max: 81}, want: "keys of the job can have 82 characters, and target svc takes at most 81; set the key.form of the target to uuid4 or uuid7 or hex32 or token22 or token64"},
		"a UUID is too long":         {key: jobs.Key{Max: 32, Form: jobs.KeyUUID7}, want: "set the key.form of the target to hex32 or token22"},
		"nothing is short enough":    {key: jobs.Key{Max: 21}, want: "none: no form is so short"},
		"Amazon Pay's own limit":     {key: jobs.Key{Header: "X-Amz-Pay-Idempotency-Key", Form: jobs.KeyUUID4}, want: "at most 32"},
		"it fits Amazon Pay":         {key: jobs.Key{Header: "x-amz-pay-idempotency-key", Form: jobs.KeyHex32}},
		"Lambda's alphabet":          {key: jobs.Key{Header: "X-Amz-Durable-Execution-Name"}, want: "set the key.form of the target to uuid4 or uuid7 or hex32 or token22 or token64"},
		"a run ID in a vendor's":     {header: "x-amz-pay-idempotency-key", want: "set key: {header: x-amz-pay-idempotency-key, form: hex32} on the target"},
		"the job's own field twice":  {key: jobs.Key{Header: "X-Key"}, header: "x-key", want: "the header x-key carries the key of target svc"},
		"an unknown form":            {key: jobs.Key{Form: "hex"}, want: `unknown form "hex"; valid values: runId, uuid4, uuid7, hex32, token22, token64`},
		"a field of the call":        {key: jobs.Key{Header: "Cronce-Run-Id"}, want: "has another meaning in the call"},
		"a credential":               {key: jobs.Key{Header: "authorization"}, want: "has another meaning in the call"},
		"no name of a header at all": {key: jobs.Key{Header: "X Key"}, want: "invalid header name"},
		"a negative limit":           {key: jobs.Key{Max: -1}, want: "max -1 is too small"},
	} {
		t.Run(title, func(t *testing.T) {
			j := jobs.Job{ID: name, Schedule: "@daily", Target: "svc", Path: "/x"}
			if c.header != "" {
				j.Headers = map[string]string{c.header: "{{runId}}"}
			}
			_, err := jobs.NewRegistry(jobs.Name("r"), jobs.Target{Name: "svc", URLEnv: "SVC_URL", Key: c.key}, j)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A process that plans a job by the ledger's definition sends the same keys.
func TestADefinitionHasTheKeyOfItsTarget(t *testing.T) {
	reg, err := jobs.Parse("cronce.yaml", []byte("name: r\ntargets: {svc: {urlEnv: SVC_URL, key: {header: X-Key, form: uuid7, max: 36}}}\n"+
		"jobs: [{id: a, schedule: '@daily', target: svc, path: /x}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	j, _ := reg.Job("a")
	if want := (jobs.Key{Header: "X-Key", Form: jobs.KeyUUID7, Max: 36}); j.Key != want {
		t.Errorf("%+v, want %+v", j.Key, want)
	}
	body, hash, err := j.Definition()
	if err != nil {
		t.Fatal(err)
	}
	back, err := jobs.ParseDefinition(body)
	if err != nil || back.Key.Header != "X-Key" || back.Key.Form != jobs.KeyUUID7 {
		t.Errorf("%+v, %v", back.Key, err)
	}
	j.Key.Form = jobs.KeyHex32
	if _, changed, _ := j.Definition(); changed == hash {
		t.Error("another form of key is no new definition")
	}
}
