package idempotency

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// FinalError is an error of [Do] that is stored: every repetition gets it.
type FinalError struct {
	// Message is the text of the error that the work returned.
	Message string
	cause   error // nil: it was stored
}

func (e *FinalError) Error() string { return e.Message }

// Unwrap returns the error that was given to [Final]. It returns nil for a
// repetition: the store keeps the text only.
func (e *FinalError) Unwrap() error { return e.cause }

// Final marks an error of the work of [Do] as one that every repetition would
// get again: a card that is declined, an order that is closed. The work is
// rolled back; the error's text, and the result beside it, are stored and
// returned to every repetition as a [FinalError]. Final(nil) is nil.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return &FinalError{err.Error(), err}
}

func isFinal(err error) bool {
	var final *FinalError
	return errors.As(err, &final)
}

// finalStatus marks a stored final error among the replies of Do.
const finalStatus = http.StatusUnprocessableEntity

// failure is what is stored of a final error.
type failure[T any] struct {
	Error  string `json:"error"`
	Result T      `json:"result"`
}

func (k *Kit) finalReply(err error, result any) (Reply, Disposition, error) {
	r, _, problem := k.reply(failure[any]{err.Error(), result})
	if problem != nil {
		return Reply{}, Release, fmt.Errorf("%w (of the final error: %w)", problem, err)
	}
	r.Status = finalStatus
	return r, RecordAlone, nil
}

func decodedFinal[T any](r Reply, duplicate bool) (result T, _ bool, err error) {
	var f failure[T]
	if err := json.Unmarshal(r.Body, &f); err != nil {
		return result, duplicate, fmt.Errorf("the stored error does not fit its type any more: %w", err)
	}
	return f.Result, duplicate, &FinalError{Message: f.Error}
}
