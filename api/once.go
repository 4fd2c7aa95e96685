package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cronce/cronce/api/access"
	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// actRequest has the fields of every mutation; each takes its own of them.
type actRequest struct {
	By                  string         `json:"by"`
	Why                 string         `json:"why"`
	DryRun              bool           `json:"dryRun"`
	From                *time.Time     `json:"from"`
	To                  *time.Time     `json:"to"`
	RunIDs              []string       `json:"runIds"`
	Job                 string         `json:"job"`
	State               []ledger.State `json:"state"`
	Reason              ledger.Reason  `json:"reason"`
	Since               *time.Time     `json:"since"`
	Until               *time.Time     `json:"until"`
	Limit               *int           `json:"limit"`
	Cursor              string         `json:"cursor"`
	Continues           string         `json:"continues"`
	IncludeAcknowledged bool           `json:"includeAcknowledged"`
	Force               bool           `json:"force"`
	MayDouble           bool           `json:"mayDouble"`
	NewKey              bool           `json:"newKey"`
	Close               bool           `json:"close"`

	id    string // the job or run of the path
	actor ledger.Actor
	// repeated: an earlier request with the key may have been done in part.
	repeated bool
}

// mutation does what a request asks; it returns what is answered.
type mutation struct {
	fields []string // of the body
	status int
	do     func(context.Context, *actRequest) (any, error)
	// reconcile finds what a request whose outcome was lost had done; nil: done
	// again, it changes nothing.
	reconcile func(context.Context, *actRequest) (v any, done bool, err error)
}

func (s *server) acts() {
	job := []string{"by", "why"}
	s.post("/v1/jobs/{id}/pause", mutation{fields: job, do: func(ctx context.Context, a *actRequest) (any, error) { return s.ops.Pause(ctx, a.id, a.actor) }, reconcile: s.wasSet("paused")})
	s.post("/v1/jobs/{id}/resume", mutation{fields: job, do: func(ctx context.Context, a *actRequest) (any, error) { return s.ops.Resume(ctx, a.id, a.actor) }, reconcile: s.wasSet("resumed")})
	s.post("/v1/jobs/{id}/trigger", mutation{fields: job, status: http.StatusCreated, do: s.trigger, reconcile: s.entered})
	s.post("/v1/jobs/{id}/backfill", mutation{fields: []string{"by", "why", "dryRun", "from", "to"}, do: s.backfill, reconcile: s.repeated})
	s.post("/v1/runs/{id}/rerun", mutation{fields: []string{"by", "why", "newKey", "mayDouble"}, status: http.StatusCreated, do: s.rerun, reconcile: s.entered})
	s.post("/v1/incidents/{id}/ack", mutation{fields: []string{"by", "why", "close"}, do: s.ackIncident})
	for _, what := range []operations.RunAction{operations.Redrive, operations.Cancel, operations.Ack} {
		one := []string{"by", "why", "dryRun"}
		if what == operations.Redrive {
			one = append(one, "force", "mayDouble")
		}
		many := append([]string{"runIds", "job", "state", "reason", "since", "until", "limit", "cursor", "includeAcknowledged"}, one...)
		if what == operations.Redrive {
			many = append(many, "continues")
		}
		do := func(ctx context.Context, a *actRequest) (any, error) { return s.act(ctx, what, a) }
		s.post("/v1/runs/"+string(what), mutation{fields: many, do: do, reconcile: s.acted})
		s.post("/v1/runs/{id}/"+string(what), mutation{fields: one, do: do, reconcile: s.acted})
	}
}

// stored is what the kit keeps of an answer.
type stored struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// post serves a mutation under an idempotency key.
func (s *server) post(pattern string, m mutation) {
	m.status = cmp.Or(m.status, http.StatusOK)
	s.handle("POST "+pattern, func(w http.ResponseWriter, r *http.Request) {
		answer, duplicate, err := s.once(w, r, pattern, m)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if duplicate {
			w.Header().Set("Idempotent-Replayed", "true")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Status)
		w.Write(answer.Body)
	})
}

func (s *server) once(w http.ResponseWriter, r *http.Request, pattern string, m mutation) (answer stored, duplicate bool, err error) {
	if err := permit(r, access.Operator); err != nil {
		return answer, false, err
	}
	if err := m.checkQuery(r); err != nil {
		return answer, false, err
	}
	a, text, err := decode(w, r, m.fields)
	if err != nil {
		return answer, false, err
	}
	if a.DryRun {
		answer, err = m.preview(r, a)
		return answer, false, err
	}
	key, err := keyOf(r)
	if err != nil {
		return answer, false, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), answerAct) // a client that goes does not stop an action halfway
	defer cancel()
	op := idempotency.Operation{
		Scope: "api:POST_" + pattern, Principal: access.FromContext(r.Context()).Principal(), Key: key,
		Payload: []byte(fmt.Sprintf(`[%q,%s]`, a.id, text)),
	}
	named := func(ctx context.Context) *actRequest {
		a.actor.Request = token(ctx)
		if a.Continues != "" {
			a.actor.Request = ledger.PartRequestName(a.Continues, a.actor.Request)
		}
		return a
	}
	effect := idempotency.Effect[stored]{
		Do: func(ctx context.Context) (stored, error) { return m.answer(m.do(ctx, named(ctx))) },
		Reconcile: func(ctx context.Context) (stored, bool, error) {
			if m.reconcile == nil {
				return stored{}, false, nil
			}
			v, done, err := m.reconcile(ctx, named(ctx))
			if err != nil || !done {
				return stored{}, false, err
			}
			answer, err := m.answer(v, nil)
			return answer, true, err
		},
	}
	return idempotency.Call(ctx, s.kit, op, effect)
}

// checkQuery refuses every parameter. A dryRun in the query would otherwise act.
func (m mutation) checkQuery(r *http.Request) error {
	q := query(r)
	for _, name := range m.fields {
		if q.values.Has(name) {
			return invalid(fmt.Sprintf("the field %q belongs in the body; an action takes no query parameters", name))
		}
	}
	return q.err
}

// preview does a dry run. It changes nothing, so that it may be asked again freely:
// it takes no key, and none is stored.
func (m mutation) preview(r *http.Request, a *actRequest) (stored, error) {
	ctx, cancel := context.WithTimeout(r.Context(), answerAct)
	defer cancel()
	return m.answer(m.do(ctx, a))
}

func (m mutation) answer(v any, err error) (stored, error) {
	if err != nil {
		return stored{}, undone(err)
	}
	body, err := encode(v)
	return stored{m.status, body}, err
}

func keyOf(r *http.Request) (string, error) {
	header := r.Header.Values("Idempotency-Key")
	if len(header) != 1 {
		return "", problem(http.StatusBadRequest, idempotency.CodeMissingKey, "a mutation needs one Idempotency-Key; send a new UUID, and the same one again when the answer was lost")
	}
	return idempotency.ParseKey(header[0])
}

// undone tells the kit which errors certainly left everything as it was.
func undone(err error) error {
	var refused *operations.Error
	var p *Problem
	if errors.As(err, &refused) || errors.As(err, &p) {
		return fmt.Errorf("%w: %w", idempotency.ErrNotDone, err)
	}
	return err
}
