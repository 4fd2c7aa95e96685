package operations

import (
	"context"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/jobdiff"
	"github.com/cronce/cronce/ledger"
)

// Revision is one definition of a job that the ledger keeps.
type Revision struct {
	Hash       string `json:"hash"`
	DeclaredAt string `json:"declaredAt"` // when a process first declared it
}

// RevisionDiff lists the fields that differ between two definitions of a job.
type RevisionDiff struct {
	JobID     string          `json:"jobId"`
	Revisions []Revision      `json:"revisions"` // all that are kept, the newest first
	From      Revision        `json:"from"`
	To        Revision        `json:"to"`
	Fields    []jobdiff.Field `json:"fields"` // those that differ
}

const (
	maxRevisions = 100
	shortestHash = 4 // characters of a hash that select a definition
)

// Revisions compares two definitions of a job. from and to are the beginnings of hashes, or times (RFC 3339, or a
// date), which select the last definition declared by then. to is the newest definition if it is "", and from is the
// one before to.
func (s *Service) Revisions(ctx context.Context, jobID, from, to string) (RevisionDiff, error) {
	declared, err := s.ledger.Definitions(ctx, jobID, maxRevisions)
	if err != nil {
		return RevisionDiff{}, err
	}
	if len(declared) == 0 {
		if err := s.KnownJob(ctx, jobID); err != nil {
			return RevisionDiff{}, err
		}
		return RevisionDiff{}, notServed(jobID)
	}
	newer, err := pickRevision(declared, to, 0)
	if err != nil {
		return RevisionDiff{}, err
	}
	older, err := pickRevision(declared, from, min(newer+1, len(declared)-1))
	if err != nil {
		return RevisionDiff{}, err
	}
	d := RevisionDiff{JobID: jobID, From: revisionOf(declared[older]), To: revisionOf(declared[newer]), Fields: []jobdiff.Field{}}
	for _, def := range declared {
		d.Revisions = append(d.Revisions, revisionOf(def))
	}
	var before, after jobdiff.Side
	if before.Add(declared[older].Body) != nil || after.Add(declared[newer].Body) != nil {
		return d, refuse(Invalid, "another version of cronce wrote one of the two definitions, which this one cannot compare")
	}
	for _, j := range jobdiff.Compare(before, after, s.now(), 0).Jobs {
		d.Fields = append(d.Fields, SeenFields(ctx, j.Fields)...)
	}
	return d, nil
}

func revisionOf(d ledger.DeclaredDefinition) Revision {
	return Revision{Hash: d.Hash, DeclaredAt: actualTime(d.At)}
}

// pickRevision returns the index of the definition that a text selects, or otherwise for "". declared comes newest
// first.
func pickRevision(declared []ledger.DeclaredDefinition, text string, otherwise int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		for i, d := range declared {
			if !d.At.After(t) {
				return i, nil
			}
		}
		return 0, refuse(Invalid, "no definition that the ledger keeps was declared by %s; the first is of %s", text,
			actualTime(declared[len(declared)-1].At))
	}
	found := -1
	for i, d := range declared {
		switch {
		case len(text) < shortestHash || !strings.HasPrefix(d.Hash, text):
		case found >= 0:
			return 0, refuse(Invalid, "%q begins several hashes of definitions; write more of it", text)
		default:
			found = i
		}
	}
	if found < 0 {
		return 0, refuse(Invalid,
			`no definition %q; use a time such as 2026-11-21T03:00:00Z or 2026-11-21, `+
				`or at least %d characters of a hash that "cronce jobs diff" lists`, text, shortestHash)
	}
	return found, nil
}

// bodyFields are the fields of a definition that have what a run sends.
var bodyFields = map[string]bool{"body": true, "headers": true}

// SeenFields returns the differences with the values of headers and body hidden from callers who may not see them.
func SeenFields(ctx context.Context, fields []jobdiff.Field) []jobdiff.Field {
	if access.SeesBodies(ctx) {
		return fields
	}
	out := make([]jobdiff.Field, len(fields))
	for i, f := range fields {
		out[i] = f
		if bodyFields[f.Field] {
			out[i].Old, out[i].New = "hidden", "hidden"
		}
	}
	return out
}
