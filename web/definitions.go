package web

import (
	"context"
	"time"

	"github.com/cronce/cronce/internal/jobdiff"
)

// changesOnPage is how many changes of its definition a job's page shows.
const changesOnPage = 5

// definitionChange is what a definition changed of the one declared before it.
type definitionChange struct {
	At     time.Time // when a process first declared it
	First  bool      // none that is kept was declared before it
	Fields []jobdiff.Field
	// Unread: another version of the program wrote one of the two.
	Unread bool
}

// changes compares each of a job's declared definitions with the one before, the
// newest first.
func (d *Dashboard) changes(ctx context.Context, jobID string, now time.Time) (list []definitionChange, err error) {
	declared, err := d.Ledger.Definitions(ctx, jobID, changesOnPage+1)
	if err != nil {
		return nil, err
	}
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
	return list, nil
}
