package web_test

import (
	"testing"

	"github.com/cronce/cronce/ledger"
)

// A page leads to the export of what its filter selects, with times as the API takes them.
func TestPagesLeadToAnExportOfTheirFilter(t *testing.T) {
	s := newSite(t)
	s.day()
	must(t, s.PauseJob(t.Context(), "paris", ledger.Actor{By: "ann", Why: "x", Via: ledger.ViaCLI}))
	s.board.Actions = true
	s.has("/runs?state=dead&target=env%3ASVC_URL&since=2026-01-01&unacknowledged=1",
		`href="/v1/export/runs?format=csv&amp;since=2026-01-01T00%3A00%3A00Z&amp;state=dead&amp;target=env%3ASVC_URL&amp;unacknowledged=true"`, "format=ndjson")
	s.has("/audit?owner=Europe+team&by=ann&since=2026-01-01", `href="/v1/export/audit?by=ann&amp;format=csv&amp;owner=Europe&#43;team&amp;since=2026-01-01T00%3A00%3A00Z"`,
		`href="/v1/export/incidents?format=csv&amp;owner=Europe&#43;team"`, `href="/jobs/paris"`)
	s.has("/audit?since=2020-01-01&until=2020-01-02", "No action matches")
	s.has("/audit?owner=Nobody", "No job has the owner")
}
