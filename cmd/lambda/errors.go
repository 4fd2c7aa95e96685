package main

import (
	"context"
	"errors"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

// The kinds of errors. The platform shows an error's type in the error record of
// the invocation, so that an alarm or a state machine can tell one from another;
// the names are part of the interface (docs/aws.md lists them).
var (
	errBadEvent      = errors.New("not an event that cronce knows")
	errRefused       = errors.New("the event is refused")
	errUnfinished    = errors.New("not finished in the time there was; the same event drives it on, under the same key")
	errDead          = errors.New("the run is dead")
	errConfiguration = errors.New("the configuration is refused")
	errSecret        = errors.New("a secret cannot be read")
)

// failedType is the type of an error that is of no kind below.
const failedType = "cronce.Failed"

// errorTypes are the kinds by their names, the most particular first.
var errorTypes = []struct {
	kind error
	name string
}{
	{errBadEvent, "cronce.BadEvent"},
	{errRefused, "cronce.Refused"},
	{errDead, "cronce.Dead"},
	{errUnfinished, "cronce.Unfinished"},
	{executor.ErrSlotTaken, "cronce.Unfinished"},
	{errSecret, "cronce.SecretUnavailable"},
	{errConfiguration, "cronce.BadConfiguration"},
	{ledger.ErrOtherRegistry, "cronce.LedgerMismatch"},
	{ledger.ErrSchema, "cronce.LedgerMismatch"},
	{ledger.ErrPurged, "cronce.Refused"},
	{executor.ErrMembers, "cronce.Refused"},
	{ledger.ErrUnavailable, "cronce.LedgerUnavailable"},
	{context.DeadlineExceeded, "cronce.Unfinished"},
}

// errorType returns the stable name of an error's kind.
func errorType(err error) string {
	for _, t := range errorTypes {
		if errors.Is(err, t.kind) {
			return t.name
		}
	}
	return failedType
}

// kindError is an error of a kind; its text is the error's own.
type kindError struct{ kind, err error }

func (e kindError) Error() string   { return e.err.Error() }
func (e kindError) Unwrap() []error { return []error{e.kind, e.err} }

// ofKind marks an error with its kind. It returns nil for nil.
func ofKind(kind, err error) error {
	if err == nil {
		return nil
	}
	return kindError{kind, err}
}
