package jobs_test

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/schedule"
)

// alike are jobs that differ in one field each, so that most of them have
// something in common with every other.
func alike() (list []jobs.Job) {
	for i, edit := range []func(*jobs.Job){
		func(*jobs.Job) {},
		func(*jobs.Job) {},
		func(j *jobs.Job) { j.Schedule = "5 4 * * *" },
		func(j *jobs.Job) { j.Timezone = "Europe/London" },
		func(j *jobs.Job) { j.DST = schedule.DSTSkip },
		func(j *jobs.Job) { j.Method = "PUT" },
		func(j *jobs.Job) { j.Path = "/other" },
		func(j *jobs.Job) { j.Scopes = []string{"a"} },
		func(j *jobs.Job) { j.Scopes = []string{"b"} },
		func(j *jobs.Job) { j.Body = map[string]int{"n": 1} },
		func(j *jobs.Job) { j.Timeout = time.Minute },
		func(j *jobs.Job) { j.Retry.Backoff = []time.Duration{} },
		func(j *jobs.Job) { j.Retry.Backoff = []time.Duration{time.Second} },
		func(j *jobs.Job) { j.Retry.Jitter = -1 },
		func(j *jobs.Job) { j.Retry.MaxRetryAfter = time.Second },
		func(j *jobs.Job) { j.Retry.Horizon = 5 * time.Hour },
		func(j *jobs.Job) { j.Overlap = jobs.OverlapQueue },
		func(j *jobs.Job) { j.CatchUp = jobs.CatchUpAll },
		func(j *jobs.Job) { j.CatchUpWindow = time.Hour },
		func(j *jobs.Job) { j.Acknowledge = jobs.AckBySuccess },
		func(j *jobs.Job) { j.KeyScope = "event:x" },
		func(j *jobs.Job) { j.MaxInFlight = 3 },
		func(j *jobs.Job) { j.Async = jobs.Async{Within: time.Hour} },
		func(j *jobs.Job) { j.Async = jobs.Async{Within: time.Hour, Poll: time.Second} },
		func(j *jobs.Job) { j.Description = "says what it does" },
		func(j *jobs.Job) { j.Owner = "Billing" },
		func(j *jobs.Job) { j.Labels = map[string]string{"a": "b"} },
		func(j *jobs.Job) { j.Labels = map[string]string{"a": "c"} },
		func(j *jobs.Job) { j.Spread = time.Hour },
		func(j *jobs.Job) { j.Spread = time.Minute },
		func(j *jobs.Job) { j.Headers = map[string]string{"X-A": "b"} },
		func(j *jobs.Job) { j.Headers = map[string]string{"X-A": "{{jobId}}"} },
		func(j *jobs.Job) { j.Body = "{{registry}}" },
		func(j *jobs.Job) { j.Disabled = true },
	} {
		j := release(edit)
		j.ID = fmt.Sprintf("job-%02d", i)
		list = append(list, j)
	}
	return list
}

func TestAJobIsTheSameAmongOthersAsAlone(t *testing.T) {
	var entries []jobs.Entry
	for _, j := range alike() {
		entries = append(entries, j)
	}
	all := build(t, entries...)
	for _, j := range alike() {
		alone := build(t, j)
		got, want := one(t, all, j.ID), one(t, alone, j.ID)
		_, hash, err := got.Definition()
		_, wantHash, wantErr := want.Definition()
		if err != nil || wantErr != nil || hash != wantHash || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", j.ID, got, want)
		}
	}
}

func TestEachJobHasAPlaceByID(t *testing.T) {
	r := build(t, release(nil), release(func(j *jobs.Job) { j.ID, j.Disabled = "a", true }))
	list := r.Jobs()
	if r.Len() != 3 || len(list) != r.Len() {
		t.Fatalf("%d places for %d jobs", r.Len(), len(list))
	}
	for i, j := range r.All() {
		place, found := r.Index(j.ID)
		_, hash, _ := j.Definition()
		if !found || place != i || !reflect.DeepEqual(j, list[i]) || !reflect.DeepEqual(r.At(i), j) || r.Hash(i) != hash {
			t.Errorf("%s, listed as %s at %d, has place %d and hash %s", j.ID, list[i].ID, i, place, r.Hash(i))
		}
	}
	if _, found := r.Index("b"); found {
		t.Error("a job that is not there has a place")
	}
}

// A hundred thousand jobs, all due at once, are planned in 200 MB: a registry of
// them takes less than half of it.
func TestAJobOfALargeRegistryTakesUnder800Bytes(t *testing.T) {
	const n = 10_000
	before := heap()
	r := many(t, n)
	if each := (heap() - before) / n; each > 800 {
		t.Errorf("%d bytes a job", each)
	}
	runtime.KeepAlive(r)
}

func many(t *testing.T, n int) *jobs.Registry {
	entries := []jobs.Entry{}
	for i := range n {
		entries = append(entries, release(func(j *jobs.Job) {
			j.ID, j.Schedule = fmt.Sprintf("job-%d", i), fmt.Sprintf("%d * * * *", i%60)
		}))
	}
	return build(t, entries...)
}

// An entry may be a pointer, or have a job in it.
func TestAJobWithinAnotherTypeIsOfTheRegistry(t *testing.T) {
	pointed, own := release(nil), struct{ jobs.Job }{release(func(j *jobs.Job) { j.ID = "own" })}
	r := build(t, &pointed, own)
	one(t, r, "release")
	one(t, r, "own")
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
