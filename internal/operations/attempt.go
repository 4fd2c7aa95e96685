package operations

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// Attempt is one call made, or perhaps made, for a run.
type Attempt struct {
	Attempt    int               `json:"attempt"`
	StartedAt  string            `json:"startedAt"`
	FinishedAt string            `json:"finishedAt"`
	Answer     ledger.AnswerKind `json:"answer"`
	Status     int               `json:"status"`
	Code       string            `json:"code,omitempty"`
	Error      string            `json:"error,omitempty"`
	Detail     string            `json:"detail,omitempty"`
	// Excerpt is the beginning of the answer, of a target with keepAnswers.
	Excerpt string `json:"excerpt,omitempty"`
	Process string `json:"process"`
}

// Took returns the duration of the attempt, to the millisecond.
func (a Attempt) Took() time.Duration {
	start, err := time.Parse(time.RFC3339, a.StartedAt)
	end, err2 := time.Parse(time.RFC3339, a.FinishedAt)
	if err != nil || err2 != nil {
		return 0
	}
	return end.Sub(start)
}

func attemptOf(at ledger.Attempt) Attempt {
	return Attempt{
		Attempt: at.N, StartedAt: actualTime(at.StartedAt), FinishedAt: actualTime(at.FinishedAt), Answer: at.Answer, Status: at.Status,
		Code: at.Code, Error: at.Error, Detail: at.Detail, Excerpt: at.Excerpt, Process: at.Process,
	}
}
