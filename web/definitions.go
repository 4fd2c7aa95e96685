package web

import (
	"errors"
	"net/http"
	"time"

	"github.com/cronce/cronce/internal/jobdiff"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// changesOnPage is the number of changes of its definition that a job's page shows.
const changesOnPage = 5

// definitionChange is the difference of a definition from its predecessor.
type definitionChange struct {
	At     time.Time // when a process first declared it
	First  bool      // the ledger keeps no predecessor
	Fields []jobdiff.Field
	// Unread: another version of the program wrote one of the two.
	Unread bool
}

// revisionsOnPage is the number of definitions that a job's page offers to compare.
const revisionsOnPage = 50

// addChanges adds what changed from one definition to the next, and compares two if the
// address asks for it.
func (d *Dashboard) addChanges(r *http.Request, jobID string, v *jobView) (err error) {
	if v.Revisions, err = d.Ledger.Definitions(r.Context(), jobID, revisionsOnPage); err != nil {
		return err
	}
	v.Changes = changesOf(v.Revisions, v.Now.Time)
	q := r.URL.Query()
	from, to := q.Get("from"), q.Get("to")
	if from+to != "" {
		compared, err := d.Operations.Revisions(r.Context(), jobID, from, to)
		if refused, is := errors.AsType[*operations.Error](err); is {
			v.CompareNo = refused.Message
		} else if err != nil {
			return err
		} else {
			v.Compared = &compared
		}
	}
	for i := range v.Changes {
		v.Changes[i].Fields = operations.SeenFields(r.Context(), v.Changes[i].Fields)
	}
	return nil
}

// changesOf compares each of a job's newest definitions with the one before, the newest
// first.
func changesOf(declared []ledger.DeclaredDefinition, now time.Time) (list []definitionChange) {
	for i, def := range declared[:min(len(declared), changesOnPage)] {
		change := definitionChange{At: def.At, First: i+1 == len(declared)}
		if !change.First {
			var before, after jobdiff.Side
			change.Unread = before.Add(declared[i+1].Body) != nil || after.Add(def.Body) != nil
			for _, j := range jobdiff.Compare(before, after, now, 0).Jobs {
				change.Fields = append(change.Fields, j.Fields...)
			}
		}
		list = append(list, change)
	}
	return list
}

// Selects reports whether a list has the i-th definition selected: it was compared, or is the default.
func (v jobView) Selects(side string, i int) bool {
	if v.Compared == nil {
		return i == map[string]int{"from": 1, "to": 0}[side]
	}
	hash := v.Compared.To.Hash
	if side == "from" {
		hash = v.Compared.From.Hash
	}
	return v.Revisions[i].Hash == hash
}
