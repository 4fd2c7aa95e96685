package main

import (
	"net/http"

	"github.com/cronce/cronce/completion"
	"github.com/cronce/cronce/internal/rollover"
)

// mountCompletion takes the reports of targets, where it is configured.
func mountCompletion(mux *http.ServeMux, fleet *rollover.Fleet[*instance]) {
	first := fleet.Current()
	if tokens := first.calls.tokens; tokens != nil {
		mux.Handle(completion.Pattern, completion.Handler(tokens, first.server.store, first.server.log))
	}
}
