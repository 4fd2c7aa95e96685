package postgres_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// A transaction that notifies takes a lock of the whole server until its commit has reached the
// disk: 438 puts of schedules a second instead of 2,113. Others poll.
func TestNoStatementNotifies(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "../internal/*/*.go", "../../migrations/postgres/*/*.sql"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		if found := notifies.Find(text); found != nil && file != "notify_test.go" {
			t.Errorf("%s has %s", file, found)
		}
	}
}

var notifies = regexp.MustCompile(`\b(NOTIFY|LISTEN|pg_notify)\b`)
