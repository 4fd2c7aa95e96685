package ledger

import (
	"context"
	"errors"
)

// Request identifies the request that asks for an action, so that a repetition is answered
// and not done again. The audit keeps it, with its answer, in the transaction of the
// action's effect, and as long as it keeps the action.
type Request struct {
	// Principal makes the request, and repeats it under Key; a Key of "" is not kept. Keys
	// of two principals have nothing to do with each other.
	Principal, Key string
	// Fingerprint tells a repetition from another request under the same key.
	Fingerprint string
	// Series names the requests of one operator that together are one action on many
	// runs; "" if there is one request. Each changes runs after those that the ones before
	// it changed.
	Series string
	// EncodeAnswer returns the answer to keep. The result is what the Store's method returns.
	// If EncodeAnswer fails, nothing is written, and the method returns the error. Required with
	// a Key.
	EncodeAnswer func(result any) ([]byte, error)
}

// KeptRequest is a request as the audit keeps it, with the answer that a repetition gets.
type KeptRequest struct {
	Principal, Key, Fingerprint string
	Answer                      []byte
}

var (
	// ErrRepeated reports that the audit has a request under the key of this one. Nothing
	// was written. Store.FindAnswer returns the answer.
	ErrRepeated = errors.New("the request was made before")
	// ErrOtherRequest reports that the key belongs to a request that asks for something else.
	ErrOtherRequest = errors.New("the key belongs to another request")
)

// FindAnswer returns the answer to an earlier request under the same Principal and Key. It
// returns ErrOtherRequest if that has another Fingerprint. After ErrRepeated, it finds the
// answer.
func (l *Ledger) FindAnswer(ctx context.Context, r Request) (answer []byte, found bool, err error) {
	kept, err := read(ctx, l, "find the request", func(tx Tx) ([]KeptRequest, error) { return tx.FindRequest(r.Principal, r.Key).Get() })
	switch {
	case err != nil || len(kept) == 0:
		return nil, false, err
	case kept[0].Fingerprint != r.Fingerprint:
		return nil, false, ErrOtherRequest
	}
	return kept[0].Answer, true, nil
}

// series returns the series that an action belongs to, or "".
func (a Actor) series() string {
	if a.Request == nil {
		return ""
	}
	return a.Request.Series
}

// addAudit writes an action to the audit, and with it its request. It is the last write of
// the action's transaction. An action on one run or job is one entry; one on several runs
// is an entry for each job, which lists show, and one for each run, which they do not. An
// action that changed nothing is written, unseen, if it can be repeated: the repetition
// must not change anything either.
func addAudit(tx Tx, a Audit, runs []Row, result any) error {
	entries, err := auditEntries(a, runs, result)
	if err != nil || len(entries) == 0 {
		return err
	}
	return tx.AddAudit(entries)
}

// auditEntries returns the entries that addAudit writes. The first one keeps the request. It has
// none for an action that changed nothing and cannot be repeated.
func auditEntries(a Audit, runs []Row, result any) ([]Audit, error) {
	entries := []Audit{a}
	if len(runs) == 1 && a.series() == "" {
		entries[0].JobID, entries[0].RunID, entries[0].Count = runs[0].JobID, runs[0].ID, 1
	} else if len(runs) > 0 { // lists show one entry of a series: no other action may belong to it
		a.Series = a.series()
		entries = auditOfMany(a, runs)
	}
	switch r := a.Request; {
	case r != nil && r.Key != "":
		answer, err := r.EncodeAnswer(result)
		if err != nil {
			return nil, err
		}
		entries[0].Kept = &KeptRequest{r.Principal, r.Key, r.Fingerprint, answer}
	case len(runs) == 0 && a.Count == 0:
		return nil, nil
	}
	return entries, nil
}

// auditOfMany returns the entries of an action on several runs: those of its jobs first.
func auditOfMany(a Audit, runs []Row) (entries []Audit) {
	jobs := map[string]int{}
	for _, r := range runs {
		if _, known := jobs[r.JobID]; !known {
			jobs[r.JobID] = len(entries)
			a.JobID = r.JobID
			entries = append(entries, a)
		}
		entries[jobs[r.JobID]].Count++
	}
	for _, r := range runs {
		a.JobID, a.RunID = r.JobID, r.ID
		entries = append(entries, a)
	}
	return entries
}
