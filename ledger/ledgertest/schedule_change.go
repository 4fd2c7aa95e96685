package ledgertest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var scheduleChangeCases = []testCase{
	{"a put is kept as it is, and a repetition changes nothing", func(t *fixture) {
		in := upsert("acme", "1m")
		in.Data, in.Until, in.Generation = []byte(`{"a": "é"}`), t.time().Add(24*time.Hour).Truncate(time.Second), 7
		made := t.putSchedule(in, ledger.ScheduleCreated)
		got := t.schedule("acme")
		if got.Expr != "1m" || string(got.Data) != string(in.Data) || !got.Until.Equal(in.Until) || got.Generation != 7 || got.Revision != 1 ||
			got.ChangedBy != someone.By || got.NextAt.IsZero() || got.CreatedAt.IsZero() || !got.Watermark.Equal(made.Watermark) {
			t.Errorf("%+v", got)
		}
		t.putSchedule(in, ledger.ScheduleUnchanged)
		if again := t.schedule("acme"); again.Revision != 1 || !again.Watermark.Equal(got.Watermark) {
			t.Errorf("after a repetition: %+v", again)
		}
		in.Expr, in.Generation = "2m", 8
		if changed := t.putSchedule(in, ledger.ScheduleChanged); changed.Revision != 2 {
			t.Errorf("%+v", changed)
		}
		if audit := t.audit(ledger.AuditFilter{}); len(audit) != 2 || audit[0].JobID != "t:acme" || audit[0].Action != ledger.ActionPutSchedule {
			t.Errorf("the audit has what changed: %+v", audit)
		}
	}},
	{"the audit of many names the template and tells which keys", func(t *fixture) {
		t.change(upsert("b", "1m"), upsert("a", "1m"), upsert("c", "1m"))
		t.change(upsert("a", "1m"), upsert("d", "1m"), upsert("c", "2m"))
		audit := t.audit(ledger.AuditFilter{JobID: "t"})
		if want := fmt.Sprintf("keys a to c, SHA-256 of the sorted lines %x", sha256.Sum256([]byte("a\nb\nc\n"))); len(audit) != 2 ||
			audit[1].About != want {
			t.Errorf("%+v, want %s", audit, want)
		}
		if want := "keys c to d, "; !strings.HasPrefix(audit[0].About, want) || audit[0].Count != 2 {
			t.Errorf("%+v, want %s", audit[0], want)
		}
		t.change(ledger.ScheduleChange{JobID: "t:a", Delete: true}, upsert("e", "1m"))
		if last := t.audit(ledger.AuditFilter{JobID: "t"})[0]; last.Action != ledger.ActionPutSchedule ||
			!strings.HasSuffix(last.About, "; deleted: 1") {
			t.Errorf("a put beside a deletion: %+v", last)
		}
	}},
	{"generations order the changes of a caller, deletions too", func(t *fixture) {
		in := upsert("acme", "1m")
		in.Generation = 5
		t.putSchedule(in, ledger.ScheduleCreated)
		older, other := in, in
		older.Generation, other.Expr = 4, "2m"
		t.wantChangeError(older, ledger.ErrGeneration)
		t.wantChangeError(other, ledger.ErrGeneration)
		older.Expr = "3m"
		t.wantChangeError(older, ledger.ErrGeneration)
		gone := in
		gone.Delete, gone.Generation = true, 6
		t.putSchedule(gone, ledger.ScheduleDeleted)
		t.putSchedule(gone, ledger.ScheduleUnchanged)
		t.wantChangeError(in, ledger.ErrGeneration)
		in.Generation = 7
		if made := t.putSchedule(in, ledger.ScheduleCreated); made.Revision != 3 {
			t.Errorf("revisions continue: %+v", made)
		}
		early := upsert("late", "1m")
		early.Delete, early.Generation = true, 2
		t.putSchedule(early, ledger.ScheduleDeleted) // it overtook the put before it
		early.Delete, early.Generation = false, 1
		t.wantChangeError(early, ledger.ErrGeneration)
		in.Generation = 9
		t.putSchedule(in, ledger.ScheduleUnchanged)
		if got := t.schedule("acme"); got.Generation != 9 || got.Revision != 3 {
			t.Errorf("a later generation of the same content: %+v", got)
		}
	}},
	{"a change may require a revision, or that there is none", func(t *fixture) {
		in := upsert("acme", "1m")
		in.IfRevision = 1
		t.wantChangeError(in, ledger.ErrOtherRevision)
		in.IfRevision = ledger.MustNotExist
		t.putSchedule(in, ledger.ScheduleCreated)
		t.putSchedule(in, ledger.ScheduleUnchanged) // its answer was lost
		in.Expr = "2m"
		t.wantChangeError(in, ledger.ErrOtherRevision)
		in.IfRevision = 1
		t.putSchedule(in, ledger.ScheduleChanged)
		t.putSchedule(in, ledger.ScheduleUnchanged)
		in.Expr = "3m"
		t.wantChangeError(in, ledger.ErrOtherRevision)
		in.Delete = true
		t.wantChangeError(in, ledger.ErrOtherRevision)
		in.IfRevision = 2
		t.putSchedule(in, ledger.ScheduleDeleted)
		if s, err := t.Schedule(t.ctx, "t:acme"); !errors.Is(err, ledger.ErrNotFound) || s.DeletedAt.IsZero() || s.ChangedBy != someone.By {
			t.Errorf("a deleted schedule: %+v, %v", s, err)
		}
		t.wantChangeError(ledger.ScheduleChange{JobID: "t:unknown", Delete: true}, ledger.ErrNotFound)
	}},
	{"the quota counts schedules that have neither ended nor been deleted", func(t *fixture) {
		t.template()
		c := ledger.ChangeSchedulesRequest{Template: "t", Max: 2, Rules: timing{}, Actor: someone, Items: []ledger.ScheduleChange{
			upsert("a", "1m"), upsert("once", at(t.time().Add(time.Minute))), upsert("c", "1m"),
		}}
		got, err := t.ChangeSchedules(t.ctx, c)
		t.must(err)
		if got[0].Err != nil || got[1].Err != nil || !errors.Is(got[2].Err, ledger.ErrQuota) {
			t.Fatalf("%+v", got)
		}
		t.inQuota(2)
		t.advance(2 * time.Minute)
		t.planAll()
		t.inQuota(1)
		if s := t.schedule("once"); s.EndedAt.IsZero() || !s.NextAt.IsZero() {
			t.Errorf("after its only scheduled time: %+v", s)
		}
		c.Items = []ledger.ScheduleChange{upsert("c", "1m"), upsert("d", "1m"), {JobID: "t:a", Delete: true}, upsert("e", "1m")}
		got, err = t.ChangeSchedules(t.ctx, c)
		t.must(err)
		if got[0].Err != nil || !errors.Is(got[1].Err, ledger.ErrQuota) || got[2].Err != nil || got[3].Err != nil {
			t.Fatalf("%+v", got)
		}
		t.inQuota(2)
	}},
	{"an invalid list changes nothing, and an invalid content is refused alone", func(t *fixture) {
		for _, items := range [][]ledger.ScheduleChange{
			{}, manyPuts(1001, "1m"), {upsert("a", "1m"), upsert("a", "1m")}, {upsert("", "1m")}, {upsert("-a", "1m")}, {upsert("a/b", "1m")},
			{upsert(strings.Repeat("a", 49), "1m")}, {{JobID: "u:a"}}, {{JobID: "t"}},
			{{JobID: "t:a", ScheduleContent: ledger.ScheduleContent{Expr: "1m", Data: make([]byte, ledger.MaxScheduleData+1)}}},
		} {
			_, err := t.ChangeSchedules(t.ctx, ledger.ChangeSchedulesRequest{Template: "t", Items: items, Rules: timing{}, Actor: someone})
			if !errors.Is(err, ledger.ErrInvalidSchedule) {
				t.Errorf("%.200v: %v", items, err)
			}
		}
		got := t.change(upsert("bad", "every day"), upsert("good", "1m"), upsert("past", at(t.time().Add(-2*time.Hour))))
		if !errors.Is(got[0].Err, ledger.ErrInvalidSchedule) || got[1].Err != nil || !errors.Is(got[2].Err, ledger.ErrInvalidSchedule) {
			t.Errorf("%+v", got)
		}
		t.inQuota(1)
	}},
	{"a list shows the schedules of a template by key, page by page", func(t *fixture) {
		t.change(append(manyPuts(12, "1m"), upsert("K", "1m"), upsert("k", "1m"), upsert("l", "1m"), upsert("k0", "1m"))...)
		_, err := t.ChangeSchedules(t.ctx, ledger.ChangeSchedulesRequest{Template: "u",
			Items: []ledger.ScheduleChange{{JobID: "u:k0000", ScheduleContent: upsert("", "1m").ScheduleContent}}, Rules: timing{}, Actor: someone})
		t.must(err)
		t.putSchedule(ledger.ScheduleChange{JobID: "t:k0003", Delete: true}, ledger.ScheduleDeleted)
		t.wantSchedules(ledger.ScheduleFilter{Template: "t", Limit: 3}, "K", "k", "k0")
		t.wantSchedules(ledger.ScheduleFilter{Template: "t", Limit: 3, AfterKey: "k0001"}, "k0002", "k0004", "k0005")
		t.wantSchedules(ledger.ScheduleFilter{Template: "t", AfterKey: "k0010"}, "k0011", "l")
		t.wantSchedules(ledger.ScheduleFilter{Template: "t", KeyPrefix: "k0", Limit: 2}, "k0", "k0000")
		t.wantSchedules(ledger.ScheduleFilter{Template: "t", KeyPrefix: "k001", AfterKey: "k0010"}, "k0011")
		t.wantSchedules(ledger.ScheduleFilter{Template: "t", KeyPrefix: "x"})
		counts, err := t.Templates(t.ctx)
		t.must(err)
		if !slices.Equal(counts, []ledger.TemplateCount{{Template: "t", Schedules: 15}, {Template: "u", Schedules: 1}}) {
			t.Errorf("templates: %+v", counts)
		}
	}},
}

// time reads the store's clock.
func (t *fixture) time() time.Time {
	t.Helper()
	counts, err := t.Counts(t.ctx)
	t.must(err)
	return counts.Now
}

func (t *fixture) inQuota(want int) {
	t.Helper()
	counts, err := t.Templates(t.ctx)
	t.must(err)
	if len(counts) != 1 || counts[0].Schedules != want {
		t.Errorf("schedules in the quota: %+v, want %d", counts, want)
	}
}

func (t *fixture) wantSchedules(f ledger.ScheduleFilter, want ...string) {
	t.Helper()
	list, err := t.Schedules(t.ctx, f)
	t.must(err)
	var keys []string
	for i := range list {
		keys = append(keys, list[i].Key())
	}
	if !slices.Equal(keys, want) {
		t.Errorf("%+v: %v, want %v", f, keys, want)
	}
}
