package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/ledger/sqlite"
)

// A backup replaces nothing and leaves nothing behind when it fails.
func TestABackupThatFailsChangesNoFile(t *testing.T) {
	path, dir := newFile(t), t.TempDir()
	open(t, path, &clock{})
	there, damaged := filepath.Join(dir, "there.db"), filepath.Join(dir, "damaged")
	for name, text := range map[string]string{there: "mine", damaged: strings.Repeat("not a database ", 1000)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"a file that exists":    sqlite.Backup(t.Context(), path, there),
		"no directory":          sqlite.Backup(t.Context(), path, filepath.Join(dir, "none", "copy.db")),
		"a file that is none":   sqlite.Backup(t.Context(), damaged, filepath.Join(dir, "copy.db")),
		"one that was canceled": sqlite.Backup(canceled, path, filepath.Join(dir, "copy.db")),
	} {
		if err == nil {
			t.Errorf("%s is no error", name)
		}
		if exists := errors.Is(err, sqlite.ErrBackupExists); exists != (name == "a file that exists") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(there); err != nil || string(text) != "mine" {
		t.Errorf("the file that existed: %q, %v", text, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestABackupIsPrivate(t *testing.T) {
	path, to := newFile(t), filepath.Join(t.TempDir(), "copy.db")
	open(t, path, &clock{})
	if err := sqlite.Backup(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(to)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	open(t, to, &clock{})
}
