package serve

import (
	"net/http"

	"github.com/cronce/cronce/completion"
	"github.com/cronce/cronce/internal/rollover"
)

// mountCompletion takes the reports of targets, where it is configured.
func mountCompletion(mux *http.ServeMux, fleet *rollover.Fleet[*instance]) {
	first := fleet.Current()
	if tokens := first.calls.Tokens; tokens != nil {
		safe := func(runID, progress string) string { return fleet.Current().calls.RedactProgress(runID, progress) }
		mux.Handle(completion.Pattern, completion.Handler(tokens, first.server.store, safe, first.server.log))
	}
}
