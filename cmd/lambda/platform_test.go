package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
)

// Alarms and state machines tell errors apart by the names of their types.
func TestErrorTypesAreStableNames(t *testing.T) {
	for want, err := range map[string]error{
		"cronce.BadEvent":          fmt.Errorf("%w: x", errBadEvent),
		"cronce.Refused":           ofKind(errRefused, errors.New("x")),
		"cronce.Unfinished":        fmt.Errorf("run r: %w", errUnfinished),
		"cronce.Dead":              ofKind(errDead, errors.New("x")),
		"cronce.SecretUnavailable": ofKind(errSecret, errors.New("x")),
		"cronce.BadConfiguration":  ofKind(errConfiguration, errors.New("x")),
		"cronce.LedgerUnavailable": fmt.Errorf("run r: %w", ledger.ErrUnavailable),
		"cronce.LedgerMismatch":    fmt.Errorf("run r: %w", ledger.ErrSchema),
		"cronce.Failed":            errors.New("x"),
	} {
		if got := errorType(err); got != want {
			t.Errorf("%v is %s, want %s", err, got, want)
		}
	}
	if got := errorType(executor.ErrMembers); got != "cronce.Refused" {
		t.Errorf("an event for a job with each is %s: no delivery can succeed", got)
	}
}

func TestThePlatformIsToldTheTypeOfAnError(t *testing.T) {
	tg, at := newTarget(t), minute()
	config := registryFile(t, releaseJob)
	fn := tg.function(config, "")
	down := tg.function(config, "postgres://127.0.0.1:1/none?connect_timeout=1")
	for name, tc := range map[string]struct {
		fn            *fakelambda.Environment
		payload, want string
	}{
		"no event":              {fn, `{}`, "cronce.BadEvent"},
		"a job that is not":     {fn, `{"jobId":"none","id":"x"}`, "cronce.Refused"},
		"a tick, stateless":     {fn, `{"tick":true}`, "cronce.Refused"},
		"an event of the past":  {fn, releaseEvent(at.AddDate(-7, 0, 0)), "cronce.Refused"},
		"a ledger that is down": {down, releaseEvent(at), "cronce.LedgerUnavailable"},
	} {
		out := tc.fn.Invoke(fakelambda.Event{RequestID: "r-" + name, Payload: tc.payload})
		if out.Error == nil || out.Error.Type != tc.want || out.Error.Message == "" {
			t.Errorf("%s: error %+v, want the type %s", name, out.Error, tc.want)
		}
	}
}

// CloudWatch finds the lines of one event by its request ID.
func TestEveryLogLineOfAnEventHasItsRequestID(t *testing.T) {
	tg, at := newTarget(t), minute()
	tg.hold(func(n int) bool { return n > 1 }) // a first attempt that fails is logged
	fn := tg.function(registryFile(t, releaseJob), "")
	succeeded(t, fn.Invoke(fakelambda.Event{RequestID: "first-event", Payload: releaseEvent(at)}), releaseRun(at))
	fn.Invoke(fakelambda.Event{RequestID: "second-event", Payload: `{"jobId":"none","id":"x"}`})
	fn.Kill() // its last lines have come when it has ended
	counts := map[string]int{}
	for line := range strings.Lines(fn.Log()) {
		var l struct{ Msg, RequestID string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("not JSON: %s", line)
		}
		if l.Msg != "ready" {
			counts[l.RequestID]++
		}
	}
	if counts[""] > 0 || counts["first-event"] == 0 || counts["second-event"] != 1 {
		t.Errorf("lines by request ID %v:\n%s", counts, fn.Log())
	}
}

// The template's alarms count these lines by their messages.
func TestTheLinesThatAlarmsCount(t *testing.T) {
	tg, at := newTarget(t), minute()
	elsewhere := strings.Replace(releaseJob, "path: /v1/admin/commission-locks/release-expired", "path: /v1/nothing", 1)
	fn := tg.function(registryFile(t, elsewhere), "")
	out := fn.Invoke(fakelambda.Event{RequestID: "r", Payload: releaseEvent(at)})
	fn.Kill()
	if out.Error == nil || out.Error.Type != "cronce.Dead" || !strings.Contains(fn.Log(), `"msg":"run is dead`) {
		t.Errorf("error %+v, log %s", out.Error, fn.Log())
	}
	db := testdb.Postgres(t)
	migrated(t, db)
	fn = tg.function(registryFile(t, releaseJob), db)
	out = fn.Invoke(fakelambda.Event{RequestID: "r", Payload: `{"tick":true}`})
	fn.Kill()
	if out.Error != nil || !strings.Contains(fn.Log(), `"msg":"tick finished"`) {
		t.Errorf("error %+v, log %s", out.Error, fn.Log())
	}
}

func TestAFatalErrorOfTheRuntimeIsLogged(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer api.Close()
	cmd := exec.Command(binary(t, "bootstrap"))
	cmd.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"),
		"CRONCE_CONFIG="+registryFile(t, releaseJob), "MEMBERSHIP_URL=http://127.0.0.1:1", "MEMBERSHIP_TOKEN=secret")
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("unexpected status code: 403")) {
		t.Errorf("%v: %s", err, out)
	}
}

// What a target sends out of turn may hold what was sent to it.
func TestALibrarysMessageIsWithheld(t *testing.T) {
	var out bytes.Buffer
	l := log.New(libraryLog{slog.New(slog.NewJSONHandler(&out, nil))}, "", log.Llongfile)
	l.Print("Unsolicited response with secret")
	if got := out.String(); !strings.Contains(got, "withheld") || strings.Contains(got, "secret") {
		t.Error(got)
	}
}

// A zip with a registry that ends each start is not made.
func TestMakeLambdaRefusesWhatCheckRefuses(t *testing.T) {
	forgets := registryFile(t, strings.Replace(releaseJob, "retry: {", "retry: { horizon: 60000h,", 1))
	cmd := exec.Command("make", "lambda", "CONFIG="+forgets)
	cmd.Dir = "../.."
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "60000h") || strings.Contains(string(out), "build-lambda") {
		t.Errorf("%v: %s", err, out)
	}
}
