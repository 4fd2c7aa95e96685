package api

import (
	"context"
	"net/http"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// serveAction serves an action. A preview changes nothing, so that it takes no key.
func (s *server) serveAction(a operations.Action) {
	fields := append([]string{"by", "why"}, a.Fields...)
	s.handle("POST "+a.Path, func(w http.ResponseWriter, r *http.Request) {
		answer, err := s.doAction(w, r, a, fields)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if answer.Replayed {
			w.Header().Set("Idempotent-Replayed", "true")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.Status)
		w.Write(answer.Body)
	})
}

func (s *server) doAction(w http.ResponseWriter, r *http.Request, a operations.Action, fields []string) (answer operations.Answer, err error) {
	who := access.FromContext(r.Context())
	if err := a.Permits(who, operations.ActionRequest{ID: r.PathValue("id")}); err != nil {
		return answer, err
	}
	if err := checkQuery(r, fields); err != nil {
		return answer, err
	}
	request, err := decode(w, r, fields)
	if err != nil {
		return answer, err
	}
	by := operations.Caller{Identity: who, Via: ledger.ViaAPI}
	if !request.DryRun {
		if by.Key, err = keyOf(r); err != nil {
			return answer, err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), answerAction) // a client that goes does not stop an action halfway
	defer cancel()
	return s.ops.Do(ctx, a, request, by)
}

// checkQuery refuses every parameter. A dryRun in the query would otherwise act.
func checkQuery(r *http.Request, fields []string) error {
	q := query(r)
	for _, name := range fields {
		if q.values.Has(name) {
			return invalid("the field \"" + name + "\" belongs in the body; an action takes no query parameters")
		}
	}
	return q.err
}

func keyOf(r *http.Request) (string, error) {
	header := r.Header.Values("Idempotency-Key")
	if len(header) != 1 {
		return "", problem(http.StatusBadRequest, idempotency.CodeMissingKey,
			"a mutation needs one Idempotency-Key; send a new UUID, and the same one again when the answer was lost")
	}
	return idempotency.ParseKey(header[0])
}
