package command

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

func TestWhenThereIsColor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		flag     string
		env      map[string]string
		terminal bool
		want     bool
	}{
		{"auto", nil, true, true},
		{"auto", nil, false, false},
		{"auto", map[string]string{"NO_COLOR": "1"}, true, false},
		{"auto", map[string]string{"NO_COLOR": ""}, true, true},
		{"auto", map[string]string{"TERM": "dumb"}, true, false},
		{"always", map[string]string{"NO_COLOR": "1"}, false, true},
		{"never", nil, true, false},
	} {
		a := &Env{color: tc.flag, Lookup: func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok }}
		if tc.terminal {
			a.Out = &screen{}
		} else {
			a.Out = &strings.Builder{}
		}
		if got := a.Colored(a.Out); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

func TestTimesForPeople(t *testing.T) {
	t.Parallel()
	at := noon.Add(-3 * time.Hour)
	text := "waiting since " + operations.TimeText(at) + " (j@2026-11-21T03:00:00Z), not 2026-11-21T03:00:00+01:00"
	tty := &screen{}
	for _, tc := range []struct {
		a    Env
		want string
	}{
		{Env{}, text},
		{Env{Out: tty}, "waiting since 3h ago (j@2026-11-21T03:00:00Z), not 2026-11-21T03:00:00+01:00"},
		{Env{Out: tty, utc: true}, text},
		{Env{Local: true}, strings.Replace(text, operations.TimeText(at), at.Local().Format(time.RFC3339), 1)},
	} {
		tc.a.Now = func() time.Time { return noon }
		if got := tc.a.times(text); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "now", 400 * time.Millisecond: "now", 59 * time.Second: "59s ago", -90 * time.Second: "in 1m", 47 * time.Hour: "47h ago", 49 * time.Hour: "2d ago", -400 * 24 * time.Hour: "in 400d",
	} {
		if got := relative(noon.Add(-d), noon); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// screen is a terminal.
type screen struct{ strings.Builder }

func (*screen) Columns() int { return 80 }

func TestEachStateHasASymbol(t *testing.T) {
	for _, s := range slices.Concat(operations.Texts(ledger.States), operations.Texts(operations.JobStates)) {
		if stateStyles[s].symbol == "" {
			t.Errorf("state %s has no symbol; add it to stateStyles", s)
		}
	}
}
