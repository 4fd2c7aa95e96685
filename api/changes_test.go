package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// follower asks a process for changes, again and again.
type follower struct {
	*site
	server   *httptest.Server
	path     string
	position string
}

// follow begins at the present position of a process.
func (s *site) follow(server *httptest.Server, path string) *follower {
	s.Helper()
	f := &follower{site: s, server: server, path: path}
	if got := f.ask(); len(got.Runs) != 0 || got.Lost || got.Position == "" {
		s.Fatalf("at the start: %+v", got)
	}
	return f
}

func (f *follower) ask() (got operations.Changes) {
	f.Helper()
	path := f.path
	if f.position != "" {
		path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "after=" + f.position
	}
	f.sendTo(f.server, http.MethodGet, path, nil).into(f.TB, &got)
	f.position = got.Position
	return got
}

// run asks until a run has changed, which must be this one in this state.
func (f *follower) run(id string, state ledger.State) {
	f.Helper()
	for {
		got := f.ask()
		if got.Lost || len(got.Runs) > 1 || len(got.Runs) == 1 && (got.Runs[0].RunID != id || got.Runs[0].State != state) {
			f.Fatalf("%+v: want the run %s, %s", got, id, state)
		}
		if len(got.Runs) == 1 {
			return
		}
	}
}

// What one process does, another tells, from any position.
func TestChangesAreRunsAsTheyChange(t *testing.T) {
	engines(t, func(s *site) {
		all, other := s.follow(s.replica(loopback), "/v1/changes"), s.follow(s.server, "/v1/changes")
		only := s.follow(s.server, "/v1/changes?job=tock")
		s.act(runPath(s.run(0))+"/cancel", map[string]any{})
		all.run(s.run(0), ledger.Canceled)
		other.position = all.position
		s.act(runPath(s.run(2))+"/ack", map[string]any{})
		all.run(s.run(2), ledger.Dead)
		other.run(s.run(2), ledger.Dead)
		var tock operations.Run
		s.act("/v1/jobs/tock/trigger", map[string]any{}).into(s.TB, &tock)
		all.run(tock.RunID, ledger.Planned)
		only.run(tock.RunID, ledger.Planned)
	})
}

func TestChangesAfterAnUnknownPositionAreLost(t *testing.T) {
	engines(t, func(s *site) {
		for _, position := range []string{"nonsense", "999999999", "999999999:999999999:", strings.Repeat("9", 8000)} {
			var got operations.Changes
			s.get("/v1/changes?after="+position).into(s.TB, &got)
			if !got.Lost || len(got.Runs) != 0 || got.Position == "" {
				s.Errorf("%.20q: %+v", position, got)
			}
		}
	})
}

func TestWrongQuestionsForChangesAreRefused(t *testing.T) {
	s := onFile(t, loopback)
	for path, want := range map[string]int{
		"/v1/changes?job=tikc": 404, "/v1/changes?state=dead": 400, "/v1/changes?job=": 400, "/v1/changes?after=": 400,
		"/v1/changes?after=" + strings.Repeat("9", 9000): http.StatusRequestURITooLong,
	} {
		if a := s.get(path); a.StatusCode != want {
			t.Errorf("%.40s: %d %s", path, a.StatusCode, a.body)
		}
	}
}
