package purge

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
)

// Options configure a [Handler]. The zero value has the defaults.
type Options struct {
	// Pace of the purge. For is 20 s by default, so that a job with the
	// default timeout of 30 s sees the end.
	Pace Pace
	// WriteProblem answers with an error; default [idempotency.WriteProblem].
	WriteProblem func(http.ResponseWriter, *http.Request, idempotency.Problem)
}

// Answer is what a [Handler] says. Done is false when expired keys
// are left because the time was over: ask again, at once or the next night.
type Answer struct {
	Deleted int64   `json:"deleted"`
	Scopes  []Scope `json:"scopes"` // by name
	Done    bool    `json:"done"`
	DryRun  bool    `json:"dryRun,omitempty"` // nothing was deleted; the numbers are what would be
}

// Scope is the number of keys removed of one key scope.
type Scope struct {
	Scope   string `json:"scope"`
	Deleted int64  `json:"deleted"`
}

// Handler removes expired keys on POST: an admin endpoint for a service
// whose database the scheduler cannot reach, called by a job like any other.
// ?scope=S purges one key scope, ?dryRun=true only counts.
//
// It needs no idempotency key, since a repetition finds less to do, and calls at
// once share the work. It does not authenticate callers: mount it behind the
// authentication of the service's other admin endpoints.
//
// 200 with an [Answer]; 400 for a query that it does not know, which might
// be a misspelt dry run; 405 for another method; 503 when the store fails,
// after which what was removed stays removed.
func Handler(p Store, o Options) http.Handler {
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
		asked, err := parsePurge(r.URL.RawQuery)
		if err != nil {
			o.WriteProblem(w, r, problem(http.StatusBadRequest, idempotency.CodeInvalidRequest, "Invalid purge", err.Error()))
			return
		}
		answer, err := asked.run(r.Context(), p, o.Pace)
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

type purgeRequest struct {
	scope string
	dry   bool
}

// parsePurge takes nothing that it does not know: a misspelt dry run would
// delete.
func parsePurge(query string) (p purgeRequest, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return p, errors.New("the query cannot be read: use ?scope=S and ?dryRun=true")
	}
	for name, given := range values {
		switch {
		case len(given) == 1 && name == "scope" && given[0] != "" && !strings.Contains(given[0], "*"):
			p.scope = given[0]
		case len(given) == 1 && name == "dryRun" && (given[0] == "true" || given[0] == "false"):
			p.dry = given[0] == "true"
		default:
			return p, errors.New("use ?scope=S, a whole key scope and no pattern, and ?dryRun=true or false, each once, and nothing else; nothing was removed")
		}
	}
	return p, nil
}

func (q purgeRequest) run(ctx context.Context, p Store, pace Pace) (Answer, error) {
	if q.dry {
		counts, err := p.CountExpired(ctx, q.scope)
		return answerOf(counts, true, true), err
	}
	counts := map[string]int64{}
	done, err := pace.Purge(ctx, p, q.scope, func(got Removed, _ time.Duration) {
		for s, n := range got.Scopes {
			counts[s] += n
		}
	})
	return answerOf(counts, done, false), err
}

func answerOf(counts map[string]int64, done, dry bool) Answer {
	a := Answer{Scopes: []Scope{}, Done: done, DryRun: dry}
	for _, s := range slices.Sorted(maps.Keys(counts)) {
		a.Deleted += counts[s]
		a.Scopes = append(a.Scopes, Scope{s, counts[s]})
	}
	return a
}
