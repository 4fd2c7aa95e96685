package main

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/fakelambda"
)

// What is wrong with registry or environment ends the start, not one event after
// the other.
func TestWhatEndsTheStart(t *testing.T) {
	good := registryFile(t, releaseJob)
	forgets := registryFile(t, strings.Replace(releaseJob, "retry: {", "retry: { horizon: 30h,", 1))
	stores := registryFile(t, releaseJob+"keyStores: [ { name: accounting, urlEnv: ACCOUNTING_DATABASE_URL } ]\n")
	long := registryFile(t, strings.Replace(releaseJob, "retry: {", "async: { within: 1h }, retry: {", 1))
	for name, tc := range map[string]struct {
		config, without, database, want string
	}{
		"long work without a ledger":    {long, "", "", "async"},
		"long work with a ledger":       {config: long, database: "postgres://127.0.0.1:1/none"},
		"nothing":                       {config: good},
		"a ledger that is empty":        {config: good, database: ""},
		"a ledger on PostgreSQL":        {config: good, database: "postgres://127.0.0.1:1/none"},
		"a variable that is not set":    {good, "MEMBERSHIP_URL", "", "MEMBERSHIP_URL"},
		"a secret that is not set":      {good, "MEMBERSHIP_TOKEN", "", "MEMBERSHIP_TOKEN"},
		"a key store that is not set":   {stores, "", "", "ACCOUNTING_DATABASE_URL"},
		"keys that expire before":       {forgets, "", "", "30h"},
		"no registry":                   {filepath.Join(t.TempDir(), "none.yaml"), "", "", "none.yaml"},
		"no registry beside the binary": {"", "CRONCE_CONFIG", "", "cronce.yaml"},
		"SQLite":                        {good, "", "sqlite:cronce.db", "SQLite"},
		"SQLite in memory":              {good, "", "sqlite::memory:", "SQLite"},
		"another database":              {good, "", "mysql://secret@db/x", "not postgres://"},
		"a URL with a bad port":         {good, "", "postgres://user:secret@db:port/x", "cannot be read"},
		"a URL with a bad escape":       {good, "", "postgres://user:secret%zz@db/x", "cannot be read"},
		"a URL without a host":          {good, "", "postgres://", "no host"},
		"a URL of a socket":             {good, "", "postgres:///x?host=/run/secret", "socket"},
		"a URL whose host cannot exist": {good, "", "postgres://user:secret@.../x", "host cannot exist"},
		"a second host that cannot":     {good, "", "postgres://user:secret@db,.../x", "host cannot exist"},
		"a URL and a newline":           {good, "", "postgres://user:secret@db/x\n", "trailing newline"},
		"several hosts, IPv6":           {config: good, database: "postgres://user:p@db:5432,[::1]:5432/x"},
		"a URL with a bad setting":      {good, "", "postgres://user:secret@db/x?sslmode=sometimes", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{
				"CRONCE_CONFIG": tc.config, "CRONCE_DATABASE_URL": tc.database,
				"MEMBERSHIP_URL": "http://127.0.0.1:1", "MEMBERSHIP_TOKEN": "secret",
			}
			delete(env, tc.without)
			_, err := newHandler(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, slog.New(slog.DiscardHandler))
			switch {
			case tc.want == "" && err != nil, tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			case err != nil && strings.Contains(err.Error(), "secret"):
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

// A proxy that cannot be read would be left out.
func TestAProxyThatIsNoneEndsTheStart(t *testing.T) {
	t.Parallel()
	env := map[string]string{"CRONCE_CONFIG": registryFile(t, releaseJob), "MEMBERSHIP_URL": "http://127.0.0.1:1", "MEMBERSHIP_TOKEN": "secret", "HTTPS_PROXY": "http://me:secret@proxy:port"}
	_, err := newHandler(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "HTTPS_PROXY is not the URL of a proxy") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// Other time zones than the operator means would be other scheduled times.
func TestTimeZonesThatCannotBeReadEndTheStart(t *testing.T) {
	t.Parallel()
	env := map[string]string{"CRONCE_CONFIG": registryFile(t, releaseJob), "MEMBERSHIP_URL": "http://127.0.0.1:1", "MEMBERSHIP_TOKEN": "secret", "CRONCE_ZONEINFO": "/no/such.zip"}
	_, err := newHandler(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "CRONCE_ZONEINFO=/no/such.zip") {
		t.Error(err)
	}
}

// The platform is told why, and so is the log.
func TestAStartThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	fn := newTarget(t).function(registryFile(t, releaseJob), "sqlite:cronce.db")
	out := fn.Invoke(fakelambda.Event{RequestID: "r", Payload: `{"tick":true}`})
	const why = "names a SQLite file"
	if !out.Crashed || !strings.Contains(fn.Log(), why) {
		t.Errorf("outcome %+v, log %s", out, fn.Log())
	}
	if e := out.InitError; e == nil || e.Type != "cronce.BadConfiguration" || !strings.Contains(e.Message, why) {
		t.Errorf("the platform was told %+v", e)
	}
}

// A key store that the function's nightly purge cannot reach ends the start too,
// and matters to no function that purges nothing.
func TestKeyStoresThatEndTheStart(t *testing.T) {
	const db, keyStores = "postgres://127.0.0.1:1/none", "keyStores: [ { name: accounting, urlEnv: ACCOUNTING_DATABASE_URL } ]\n"
	purged := registryFile(t, releaseJob+keyStores)
	disabled := registryFile(t, releaseJob+keyStores+"cleanup: { enabled: false, reason: purged elsewhere }\n")
	for name, tc := range map[string]struct{ config, database, store, want string }{
		"PostgreSQL":            {purged, db, "postgres://user:secret@db/keys", ""},
		"MySQL":                 {purged, db, "user:secret@tcp(db)/keys", "cronce purge --store accounting"},
		"a newline":             {purged, db, "postgres://user:secret@db/keys\n", "trailing newline"},
		"a bad port":            {purged, db, "postgres://user:secret@db:port/keys", "cannot be read"},
		"no host":               {purged, db, "postgres:///keys", "no host"},
		"a mode left out":       {purged, db, "postgres://user:secret@db/keys?default_query_exec_mode=exec", "cache_describe"},
		"MySQL, not purged":     {disabled, db, "user:secret@tcp(db)/keys", ""},
		"MySQL, without ledger": {purged, "", "user:secret@tcp(db)/keys", ""},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{
				"CRONCE_CONFIG": tc.config, "CRONCE_DATABASE_URL": tc.database, "ACCOUNTING_DATABASE_URL": tc.store,
				"MEMBERSHIP_URL": "http://127.0.0.1:1", "MEMBERSHIP_TOKEN": "token",
			}
			_, err := newHandler(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, slog.New(slog.DiscardHandler))
			switch {
			case tc.want == "" && err != nil, tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			case err != nil && (strings.Contains(err.Error(), "secret") || errorType(err) != "cronce.BadConfiguration"):
				t.Errorf("error %s: %v", errorType(err), err)
			}
		})
	}
}
