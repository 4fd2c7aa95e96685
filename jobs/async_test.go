package jobs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

func async(a jobs.Async) func(*jobs.Job) { return func(j *jobs.Job) { j.Async = a } }

func TestAsyncIsPartOfTheHorizonAndOfTheDefinition(t *testing.T) {
	plain := one(t, build(t, release(nil)), "release")
	long := one(t, build(t, release(async(jobs.Async{Within: 6 * time.Hour}))), "release")
	if long.Async.Poll != time.Minute || long.Retry.Horizon != plain.Retry.Horizon+6*time.Hour {
		t.Errorf("async %+v with a horizon of %s; without it is %s", long.Async, long.Retry.Horizon, plain.Retry.Horizon)
	}
	body, hash, err := long.Definition()
	if err != nil {
		t.Fatal(err)
	}
	back, err := jobs.ParseDefinition(body)
	if err != nil || back.Async != long.Async {
		t.Errorf("read back as %+v, %v", back.Async, err)
	}
	if _, without, _ := plain.Definition(); without == hash {
		t.Error("async does not change the definition's hash")
	}
}

func TestAsyncThatCannotBeKeptIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		async   jobs.Async
		horizon time.Duration
		want    string
	}{
		"no within":        {jobs.Async{Poll: time.Minute}, 0, "within is missing"},
		"negative":         {jobs.Async{Within: -time.Hour}, 0, "negative"},
		"a short poll":     {jobs.Async{Within: time.Hour, Poll: time.Millisecond}, 0, "minimum is 1s"},
		"a short horizon":  {jobs.Async{Within: 6 * time.Hour}, 2 * time.Hour, "shorter than async.within"},
		"longer than ever": {jobs.Async{Within: 1 << 62}, 0, "too long"},
	} {
		_, err := jobs.NewRegistry(jobs.Name("acme"), release(func(j *jobs.Job) { j.Async, j.Retry.Horizon = c.async, c.horizon }))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := jobs.Parse("f", []byte("name: acme\njobs:\n  - { id: a, schedule: '@hourly', targetUrlEnv: A_URL, path: /a, async: {} }\n")); err == nil || !strings.Contains(err.Error(), "within is missing") {
		t.Errorf("an empty async: %v", err)
	}
}

func TestAsyncNeedsALedger(t *testing.T) {
	long := release(async(jobs.Async{Within: time.Hour}))
	off := long
	off.ID, off.Disabled = "off", true
	got := build(t, long, off).CheckWithoutLedger()
	if len(got) != 1 || got[0].Job != "release" || got[0].Code != "needs_ledger" {
		t.Errorf("problems %v, want one of release", got)
	}
	if got := build(t, release(nil)).CheckWithoutLedger(); len(got) != 0 {
		t.Errorf("without async: %v", got)
	}
}
