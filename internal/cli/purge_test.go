package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
)

const withStores = `version: 1
name: test
keyTTLs: [ { scope: "route:POST_/v1/payments", ttl: 168h } ]
keyStores: [ { name: accounting, urlEnv: ACCOUNTING_URL }, { name: other, urlEnv: OTHER_URL } ]
`

// keyFile is a SQLite file with three expired payments, two expired orders and
// one order that has not expired.
func keyFile(t *testing.T) (url string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.db")
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := sqlite.New(db, sqlite.Options{}).CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, scope := range []string{"route:POST_/v1/payments", "route:POST_/v1/payments", "route:POST_/v1/payments", "orders", "orders", "orders"} {
		expires := 2
		if i == 5 {
			expires = 1 << 52
		}
		if _, err := db.Exec(`INSERT INTO idempotency_keys (scope, principal, key, request_hash, state, owner, created_at, expires_at)
			VALUES (?, 'p', ?, 'h', 'done', 'o', 1, ?)`, scope, i, expires); err != nil {
			t.Fatal(err)
		}
	}
	return "sqlite:" + path
}

func storesDesk(t *testing.T) *desk {
	d := newDesk(t, withStores)
	d.env["ACCOUNTING_URL"], d.env["OTHER_URL"] = keyFile(t), keyFile(t)
	return d
}

func (d *desk) purge(wantCode int, args ...string) (r cleanup.Report, errs string) {
	d.Helper()
	code, out, errs := d.run(append([]string{"purge", "--json"}, args...)...)
	if code != wantCode {
		d.Fatalf("purge %v: exit %d: %s", args, code, errs)
	}
	if code != exitUsage {
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			d.Fatal(err)
		}
	}
	return r, errs
}

func TestPurgeCommandCountsByScope(t *testing.T) {
	d := storesDesk(t)
	if r, _ := d.purge(exitDone, "--dry-run"); r.Deleted != 10 || !r.DryRun {
		t.Errorf("dry run: %+v", r)
	}
	if r, _ := d.purge(exitDone, "--store", "other"); r.Deleted != 5 || len(r.Stores) != 1 {
		t.Errorf("of one store: %+v", r)
	}
	golden(t, "purge", d.transcript("purge", "--dry-run")+d.transcript("purge", "--dry-run", "--json")+
		d.transcript("purge")+d.transcript("purge"))
}

func TestPurgeCommandGoesOnPastAStoreThatFails(t *testing.T) {
	d := storesDesk(t)
	d.env["ACCOUNTING_URL"] = "sqlite:" + d.path("missing.db")
	r, errs := d.purge(exitFailed)
	if r.Deleted != 5 || !strings.Contains(errs, "key store accounting") || r.Stores[0].Error == "" {
		t.Errorf("%+v; %s", r, errs)
	}
}

func TestPurgeCommandRefusesWhatItDoesNotKnow(t *testing.T) {
	d := storesDesk(t)
	if _, errs := d.purge(exitUsage, "--store", "nowhere"); !strings.Contains(errs, `unknown key store "nowhere"`) {
		t.Error(errs)
	}
	if r, errs := d.purge(exitUsage, "--store", ""); r.Deleted != 0 || !strings.Contains(errs, "--store") {
		t.Errorf("an empty name: %s", errs)
	}
	delete(d.env, "OTHER_URL")
	if _, errs := d.purge(exitUsage); !strings.Contains(errs, "OTHER_URL is not set") {
		t.Error(errs)
	}
}

// The built-in job is triggered like any other, and its run tells its counts.
func TestNightlyRunShowsCountsPerScope(t *testing.T) {
	engines(t, func(t *testing.T, db string) {
		config := writeFile(t, withStores)
		env := map[string]string{"ACCOUNTING_URL": keyFile(t), "OTHER_URL": keyFile(t)}
		code, out, errs := invoke(t, env, "trigger", jobs.PurgeJobID, "--config", config, "--db", db, "--by", "ann", "--why", "test", "--json")
		if code != exitDone {
			t.Fatalf("trigger: exit %d: %s", code, errs)
		}
		var r operations.Run
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		_, out, _ = invoke(t, env, "runs", "show", r.RunID, "--config", config, "--db", db)
		for _, want := range []string{"accounting     route:POST_/v1/payments  3        -\n", "accounting     in all                   5        0\n", "finished runs  in all                   0        0\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("runs show lacks %s:\n%s", want, out)
			}
		}
	})
}
