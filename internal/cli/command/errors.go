package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Exit codes of every command. Scripts depend on them.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2 // usage or configuration
	ExitChanges = 3 // diff only
)

// ExitError ends a command with a code of its own; err may be nil when all has
// been printed.
type ExitError struct {
	code int
	err  error
}

func (e *ExitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *ExitError) Unwrap() error { return e.err }

// ExitWith ends a command that has printed all with an exit code.
func ExitWith(code int) error { return &ExitError{code: code} }

// Usage returns an error with exit code 2, for mistakes in flags, arguments, files and variables: a repetition cannot
// succeed.
func Usage(format string, args ...any) error {
	return &ExitError{ExitUsage, fmt.Errorf(format, args...)}
}

// Report prints a command's error to standard error, and returns the exit code. Problems of a registry, and refusals of
// package operations that blame the question, count as usage.
func (env *Env) Report(err error) int {
	if err == nil {
		return ExitDone
	}
	code := ExitFailed
	var e *ExitError
	var problems jobs.Problems
	var refused *operations.Error
	switch {
	case errors.As(err, &e):
		code, err = e.code, e.err
	case errors.As(err, &problems), errors.Is(err, ledger.ErrOtherRegistry):
		code = ExitUsage
	case errors.As(err, &refused) && (refused.Code == operations.Invalid || refused.Code == operations.UnknownJob):
		code = ExitUsage
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	switch {
	case err == nil:
	case errors.As(err, &problems):
		env.PrintProblems(problems)
	default:
		fmt.Fprintln(env.Err, "cronce:", plaintext.Lines(err.Error()))
	}
	return code
}
