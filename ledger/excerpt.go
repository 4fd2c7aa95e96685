package ledger

import "time"

// Excerpt is what a failing answer said, of a target whose registry has it kept. It has a
// row of its own, which the purge deletes at its time, whatever becomes of the run.
type Excerpt struct {
	RunID     string
	N         int // the attempt
	Text      string
	KeepUntil time.Time
}

// ExcerptLimit is the number of bytes of an answer that are kept.
const ExcerptLimit = 1 << 10

// StorableExcerpt returns a text as an Excerpt has it: valid UTF-8 without NUL, and cut to
// ExcerptLimit.
func StorableExcerpt(s string) string { return StorableText(s, ExcerptLimit) }

// excerpt returns what the outcome's attempt keeps of its answer; false: nothing.
func (o *Outcome) excerpt(now time.Time) (Excerpt, bool) {
	e := Excerpt{o.RunID, o.Attempt.N, StorableExcerpt(o.Excerpt), now.Add(microsecond(o.KeepExcerpt))}
	return e, e.N > 0 && e.Text != "" && o.KeepExcerpt > 0
}

// addExcerpts adds to the attempts of a run what is still to be kept of their answers.
func addExcerpts(tx Tx, attempts []Attempt, excerptsFuture Future[[]Excerpt]) error {
	list, err := excerptsFuture.Get()
	if err != nil || len(list) == 0 {
		return err
	}
	now, err := tx.Now()
	for _, e := range list {
		for i := range attempts {
			if attempts[i].N == e.N && now.Before(e.KeepUntil) {
				attempts[i].Excerpt = e.Text
			}
		}
	}
	return err
}
