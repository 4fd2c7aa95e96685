// Package purgehttp lets a job purge the keys of a service whose database the scheduler
// cannot reach: the service mounts [Handler].
package purgehttp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/purge"
)

// Options configure a [Handler]. The zero value has the defaults.
type Options struct {
	// Pace is the pace of the purge. Its field For has the default 20 s, so that the
	// purge ends within the default timeout of a job, 30 s.
	Pace purge.Pace
	// WriteProblem writes error answers; default [idempotency.WriteProblem].
	WriteProblem func(http.ResponseWriter, *http.Request, idempotency.Problem)
}

// Response is the body of a [Handler]'s answer.
type Response struct {
	Deleted int64        `json:"deleted"` // number of removed keys
	Scopes  []ScopeCount `json:"scopes"`  // sorted by name
	// Done is false if expired keys are left because Pace.For has ended. Call again
	// then, at once or the next night.
	Done   bool `json:"done"`
	DryRun bool `json:"dryRun,omitempty"` // nothing was removed; the numbers say what would be
}

// ScopeCount is the number of removed keys of one key scope.
type ScopeCount struct {
	Scope   string `json:"scope"`
	Deleted int64  `json:"deleted"`
}

// Handler returns a handler that removes expired keys on POST. It is an admin endpoint
// for a service whose database the scheduler cannot reach; a job calls it. The query
// ?scope=S restricts it to one key scope, and ?dryRun=true only counts.
//
// It answers 200 with a [Response], 400 for an unknown query, which might be a misspelt
// dry run, 405 for another method, and 503 if the store fails. Keys that were removed
// before a failure stay removed.
//
// It needs no idempotency key, since a repetition finds less to do. Concurrent calls
// share the work. It does not authenticate callers: mount it behind the authentication
// of the service's other admin endpoints.
func Handler(s purge.Store, o Options) http.Handler {
	if o.Pace.For <= 0 {
		o.Pace.For = 20 * time.Second
	}
	if o.WriteProblem == nil {
		o.WriteProblem = idempotency.WriteProblem
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "use POST: this removes expired idempotency keys", http.StatusMethodNotAllowed)
			return
		}
		req, err := parse(r.URL.RawQuery)
		if err != nil {
			o.WriteProblem(w, r, problem(http.StatusBadRequest, idempotency.CodeInvalidRequest, "Invalid purge", err.Error()))
			return
		}
		answer, err := req.run(r.Context(), s, o.Pace)
		if err != nil {
			o.WriteProblem(w, r, problem(http.StatusServiceUnavailable, idempotency.CodeUnavailable, "Key store unavailable",
				"Not all expired keys could be removed. What was removed stays so; ask again."))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // a caller that has gone asks again
	})
}

func problem(status int, code, title, detail string) idempotency.Problem {
	return idempotency.Problem{Type: "about:blank", Title: title, Status: status, Code: code, Detail: detail}
}

type request struct {
	scope string
	dry   bool
}

// parse takes nothing that it does not know: a misspelt dry run would
// delete.
func parse(query string) (req request, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return req, errors.New("the query cannot be read: use ?scope=S and ?dryRun=true")
	}
	for name, given := range values {
		switch {
		case len(given) == 1 && name == "scope" && given[0] != "" && !strings.Contains(given[0], "*"):
			req.scope = given[0]
		case len(given) == 1 && name == "dryRun" && (given[0] == "true" || given[0] == "false"):
			req.dry = given[0] == "true"
		default:
			return req, errors.New("use ?scope=S, a whole key scope and no pattern, and ?dryRun=true or false, each once, and nothing " +
				"else; nothing was removed")
		}
	}
	return req, nil
}

func (r request) run(ctx context.Context, s purge.Store, pace purge.Pace) (Response, error) {
	if r.dry {
		counts, err := s.CountExpired(ctx, r.scope)
		return answerOf(counts, true, true), err
	}
	counts := map[string]int64{}
	done, err := pace.Purge(ctx, s, r.scope, func(got purge.BatchResult, _ time.Duration) {
		for scope, n := range got.Scopes {
			counts[scope] += n
		}
	})
	return answerOf(counts, done, false), err
}

func answerOf(counts map[string]int64, done, dry bool) Response {
	a := Response{Scopes: []ScopeCount{}, Done: done, DryRun: dry}
	for _, s := range slices.Sorted(maps.Keys(counts)) {
		a.Deleted += counts[s]
		a.Scopes = append(a.Scopes, ScopeCount{s, counts[s]})
	}
	return a
}
