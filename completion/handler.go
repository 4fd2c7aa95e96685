package completion

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/ledger"
)

// Pattern is the pattern of a Handler in an http.ServeMux.
const Pattern = "POST /v1/runs/{id}/completion"

// maxBody bounds a report.
const maxBody = 16 << 10

// Reporter is the part of a ledger.Store that a Handler uses.
type Reporter interface {
	Report(context.Context, ledger.ReportRequest) (ledger.Run, error)
}

// report is the body of a request.
type report struct {
	State    string          `json:"state"`    // working, succeeded or failed
	Progress json.RawMessage `json:"progress"` // any value, as in the body of a 202
	Detail   string          `json:"detail"`
}

// Handler serves reports at Pattern. Its answers: 200 with the run's state, 400 for
// a malformed body, 401 for a wrong token, 409 for a run that is finished or
// unknown, 503 while the ledger does not answer. The ledger keeps what safe returns
// for a run's progress, since a target may repeat the secrets that it was sent.
func Handler(t *Tokens, l Reporter, safe func(runID, progress string) string, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runID := r.PathValue("id")
		if !t.Valid(runID, tokenOf(r)) {
			fail(w, http.StatusUnauthorized, "completion_token_invalid",
				"The token is not this run's. Send Cronce-Completion-Token of the run's call, as Authorization: Bearer TOKEN.")
			return
		}
		said, ok := read(w, r)
		if !ok {
			return
		}
		run, err := l.Report(r.Context(), ledger.ReportRequest{RunID: runID, Progress: safe(runID, said.text()), Done: said.State != "working"})
		switch {
		case errors.Is(err, ledger.ErrFinished), errors.Is(err, ledger.ErrNotFound):
			fail(w, http.StatusConflict, "run_finished", "The run is finished; nothing was changed.")
		case err != nil:
			log.Error("report of a target not kept", "run", runID, "error", err)
			fail(w, http.StatusServiceUnavailable, "ledger_unavailable", "The report was not kept. Send it again, or answer the next call.")
		default:
			log.Info("target reported", "run", runID, "state", said.State)
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]string{"runId": run.ID, "state": string(run.State)})
		}
	})
}

func tokenOf(r *http.Request) string {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return token
	}
	return r.Header.Get("Cronce-Completion-Token")
}

func read(w http.ResponseWriter, r *http.Request) (said report, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, &said)
	}
	switch {
	case err != nil:
		fail(w, http.StatusBadRequest, "completion_invalid", `The body must be a JSON object of at most 16 KiB, e.g. {"state":"succeeded"}.`)
	case said.State != "working" && said.State != "succeeded" && said.State != "failed":
		fail(w, http.StatusBadRequest, "completion_invalid", "state must be working, succeeded or failed.")
	default:
		return said, true
	}
	return said, false
}

// text returns the progress and the detail in one line, as the run keeps them.
func (r report) text() string {
	return plaintext.Line(strings.Join(strings.Fields(ledger.ProgressText(r.Progress)+" "+r.Detail), " "))
}

// fail answers with a problem document (RFC 9457).
func fail(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "about:blank", "status": status, "code": code, "title": http.StatusText(status),
		"detail": detail})
}
