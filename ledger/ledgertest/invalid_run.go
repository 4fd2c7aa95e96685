package ledgertest

import (
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

var invalidRunCases = []testCase{
	{"a scheduled time with a fraction of a second is refused by every method, and nothing is written", func(t *fixture) {
		for _, d := range []time.Duration{time.Nanosecond, 500 * time.Millisecond, time.Second - 1} {
			t.wantRefusedByAll(func(in *ledger.RunSpec) { in.ScheduledAt = in.ScheduledAt.Add(d) })
		}
	}},
	{"a run ID that is not of its job and its time is refused by every method, and nothing is written", func(t *fixture) {
		t.wantRefusedByAll(func(in *ledger.RunSpec) { in.ScheduledAt = in.ScheduledAt.Add(time.Second) })
		t.wantRefusedByAll(func(in *ledger.RunSpec) { in.RunID = "other" + in.RunID[1:] })
		t.wantRefusedByAll(func(in *ledger.RunSpec) { in.RunID += "~" })
	}},
	{"a run ID that cannot be sent is refused by every method, and nothing is written", func(t *fixture) {
		for _, token := range []string{"\x00", "\xff", "a b", "é", string(make([]byte, 10<<20))} {
			t.wantRefusedByAll(func(in *ledger.RunSpec) { in.RunID += "~" + token })
		}
	}},
}

// wantRefusedByAll spoils the second of two scheduled times, and checks that every method refuses
// it.
func (t *fixture) wantRefusedByAll(spoil func(*ledger.RunSpec)) {
	t.Helper()
	j := t.job("j")
	good, bad := j.leased(0, ledger.OverlapAllow), j.leased(1, ledger.OverlapAllow)
	spoil(&bad)
	before, runs := j.next().Watermark, len(t.all("j"))
	methods := map[string]func() error{
		"Admit": func() error { _, err := t.Admit(t.ctx, t.admission(j.plan(5, good, bad))); return err },
		"Enter": func() error { _, err := t.Enter(t.ctx, j.entry(bad)); return err },
		"Backfill": func() error {
			_, err := t.Backfill(t.ctx, ledger.BackfillRequest{JobID: "j", Runs: []ledger.RunSpec{good, bad}})
			return err
		},
	}
	for name, call := range methods {
		if err := call(); !errors.Is(err, ledger.ErrInvalidRun) || errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%s of %.80q at %s: %v, want ErrInvalidRun", name, bad.RunID, bad.ScheduledAt, err)
		}
	}
	if after := j.next().Watermark; !after.Equal(before) || len(t.all("j")) != runs {
		t.Errorf("the watermark went from %s to %s, the rows from %d to %d: want nothing written", before, after, runs, len(t.all("j")))
	}
}
