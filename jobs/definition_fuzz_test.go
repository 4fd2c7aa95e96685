package jobs_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
)

// A definition comes from the ledger's database: whatever is read there means
// the same when it is written and read again.
func FuzzParseDefinition(f *testing.F) {
	for _, j := range build(f, release(nil)).Jobs() {
		body, _, err := j.Definition()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"schedule":"* * * * *","timezone":"../etc/passwd"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := jobs.ParseDefinition(data)
		if err != nil {
			return
		}
		body, hash, err := j.Definition()
		if err != nil {
			t.Fatalf("%s was read, and cannot be written: %v", data, err)
		}
		back, err := jobs.ParseDefinition(body)
		if err != nil {
			t.Fatalf("%s was written, and cannot be read: %v", body, err)
		}
		if _, again, _ := back.Definition(); again != hash {
			t.Fatalf("%s has the hash %s, and then %s", body, hash, again)
		}
		now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
		if !back.ParsedSchedule().Next(now).Equal(j.ParsedSchedule().Next(now)) {
			t.Fatalf("%s has another next scheduled time when it is read again", body)
		}
	})
}
