package operate

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/backend"
	"github.com/cronce/cronce/ledger"
)

// ask puts a question to the server of --server, or else to the ledger that open opens, and prints
// the answer: for a program as it is, for a person with show. jobIDs are the jobs that the command
// names, so that a mistyped one is refused even where there is no ledger yet.
func ask[T any](
	c *cobra.Command, a *app, open func(context.Context) (ledger.Store, error),
	question func(context.Context, backend.Operator) (T, error), show func(T) error, jobIDs ...string,
) error {
	o, done, err := a.Operator(c.Context(), open, jobIDs...)
	if err != nil {
		return err
	}
	defer done()
	answer, err := question(c.Context(), o)
	if err != nil {
		return err
	}
	if a.Encoded() {
		return a.Encode(answer)
	}
	return show(answer)
}
