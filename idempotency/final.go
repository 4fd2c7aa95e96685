package idempotency

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// FinalError is an error that is stored under the key, so that every repetition returns
// it. [Final] makes one.
type FinalError struct {
	// Message is the text of the error that the work returned.
	Message string
	cause   error // nil: it was stored
}

// Error returns the Message.
func (e *FinalError) Error() string { return e.Message }

// Unwrap returns the error that was given to [Final]. It returns nil for a
// repetition: the store keeps the text only.
func (e *FinalError) Unwrap() error { return e.cause }

// Final marks an error of the work of [Do] as final: every repetition would get it
// again, such as a declined card or a closed order. The work is rolled back. The text of
// the error and the result are stored, and every repetition returns them with a
// [FinalError]. Final(nil) is nil.
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
	return r, StoreReply, nil
}

func decodedFinal[T any](r Reply, duplicate bool) (result T, _ bool, err error) {
	var f failure[T]
	if err := json.Unmarshal(r.Body, &f); err != nil {
		return result, duplicate, fmt.Errorf("the stored error does not fit its type any more: %w", err)
	}
	return f.Result, duplicate, &FinalError{Message: f.Error}
}
