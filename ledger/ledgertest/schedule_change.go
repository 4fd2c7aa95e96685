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
	{"a put is kept as it is, and a repetition changes nothing", func(b *fixture) {
		in := upsert("acme", "1m")
		in.Data, in.Until, in.Generation = []byte(`{"a": "é"}`), b.time().Add(24*time.Hour).Truncate(time.Second), 7
		made := b.putSchedule(in, ledger.ScheduleCreated)
		got := b.schedule("acme")
		if got.Expr != "1m" || string(got.Data) != string(in.Data) || !got.Until.Equal(in.Until) || got.Generation != 7 || got.Revision != 1 ||
			got.ChangedBy != someone.By || got.NextAt.IsZero() || got.CreatedAt.IsZero() || !got.Watermark.Equal(made.Watermark) {
			b.Errorf("%+v", got)
		}
		b.putSchedule(in, ledger.ScheduleUnchanged)
		if again := b.schedule("acme"); again.Revision != 1 || !again.Watermark.Equal(got.Watermark) {
			b.Errorf("after a repetition: %+v", again)
		}
		in.Expr, in.Generation = "2m", 8
		if changed := b.putSchedule(in, ledger.ScheduleChanged); changed.Revision != 2 {
			b.Errorf("%+v", changed)
		}
		if audit := b.audit(ledger.AuditFilter{}); len(audit) != 2 || audit[0].JobID != "t:acme" || audit[0].Action != ledger.ActionPutSchedule {
			b.Errorf("the audit has what changed: %+v", audit)
		}
	}},
	{"the audit of many names the template and tells which keys", func(b *fixture) {
		b.change(upsert("b", "1m"), upsert("a", "1m"), upsert("c", "1m"))
		b.change(upsert("a", "1m"), upsert("d", "1m"), upsert("c", "2m"))
		audit := b.audit(ledger.AuditFilter{JobID: "t"})
		if want := fmt.Sprintf("keys a to c, SHA-256 of the sorted lines %x", sha256.Sum256([]byte("a\nb\nc\n"))); len(audit) != 2 ||
			audit[1].About != want {
			b.Errorf("%+v, want %s", audit, want)
		}
		if want := "keys c to d, "; !strings.HasPrefix(audit[0].About, want) || audit[0].Count != 2 {
			b.Errorf("%+v, want %s", audit[0], want)
		}
		b.change(ledger.ScheduleChange{JobID: "t:a", Delete: true}, upsert("e", "1m"))
		if last := b.audit(ledger.AuditFilter{JobID: "t"})[0]; last.Action != ledger.ActionPutSchedule ||
			!strings.HasSuffix(last.About, "; deleted: 1") {
			b.Errorf("a put beside a deletion: %+v", last)
		}
	}},
	{"generations order the changes of a caller, deletions too", func(b *fixture) {
		in := upsert("acme", "1m")
		in.Generation = 5
		b.putSchedule(in, ledger.ScheduleCreated)
		older, other := in, in
		older.Generation, other.Expr = 4, "2m"
		b.wantChangeError(older, ledger.ErrGeneration)
		b.wantChangeError(other, ledger.ErrGeneration)
		older.Expr = "3m"
		b.wantChangeError(older, ledger.ErrGeneration)
		gone := in
		gone.Delete, gone.Generation = true, 6
		b.putSchedule(gone, ledger.ScheduleDeleted)
		b.putSchedule(gone, ledger.ScheduleUnchanged)
		b.wantChangeError(in, ledger.ErrGeneration)
		in.Generation = 7
		if made := b.putSchedule(in, ledger.ScheduleCreated); made.Revision != 3 {
			b.Errorf("revisions continue: %+v", made)
		}
		early := upsert("late", "1m")
		early.Delete, early.Generation = true, 2
		b.putSchedule(early, ledger.ScheduleDeleted) // it overtook the put before it
		early.Delete, early.Generation = false, 1
		b.wantChangeError(early, ledger.ErrGeneration)
		in.Generation = 9
		b.putSchedule(in, ledger.ScheduleUnchanged)
		if got := b.schedule("acme"); got.Generation != 9 || got.Revision != 3 {
			b.Errorf("a later generation of the same content: %+v", got)
		}
	}},
	{"a change may require a revision, or that there is none", func(b *fixture) {
		in := upsert("acme", "1m")
		in.IfRevision = 1
		b.wantChangeError(in, ledger.ErrOtherRevision)
		in.IfRevision = ledger.MustNotExist
		b.putSchedule(in, ledger.ScheduleCreated)
		b.putSchedule(in, ledger.ScheduleUnchanged) // its answer was lost
		in.Expr = "2m"
		b.wantChangeError(in, ledger.ErrOtherRevision)
		in.IfRevision = 1
		b.putSchedule(in, ledger.ScheduleChanged)
		b.putSchedule(in, ledger.ScheduleUnchanged)
		in.Expr = "3m"
		b.wantChangeError(in, ledger.ErrOtherRevision)
		in.Delete = true
		b.wantChangeError(in, ledger.ErrOtherRevision)
		in.IfRevision = 2
		b.putSchedule(in, ledger.ScheduleDeleted)
		if _, err := b.Schedule(b.ctx, "t:acme"); !errors.Is(err, ledger.ErrNotFound) {
			b.Errorf("a deleted schedule: %v", err)
		}
		b.wantChangeError(ledger.ScheduleChange{JobID: "t:unknown", Delete: true}, ledger.ErrNotFound)
	}},
	{"the quota counts schedules that have neither ended nor been deleted", func(b *fixture) {
		b.template()
		c := ledger.ChangeSchedulesRequest{Template: "t", Max: 2, Rules: timing{}, Actor: someone, Items: []ledger.ScheduleChange{
			upsert("a", "1m"), upsert("once", at(b.time().Add(time.Minute))), upsert("c", "1m"),
		}}
		got, err := b.ChangeSchedules(b.ctx, c)
		if b.must(err); got[0].Err != nil || got[1].Err != nil || !errors.Is(got[2].Err, ledger.ErrQuota) {
			b.Fatalf("%+v", got)
		}
		b.inQuota(2)
		b.advance(2 * time.Minute)
		b.planAll()
		b.inQuota(1)
		if s := b.schedule("once"); s.EndedAt.IsZero() || !s.NextAt.IsZero() {
			b.Errorf("after its only scheduled time: %+v", s)
		}
		c.Items = []ledger.ScheduleChange{upsert("c", "1m"), upsert("d", "1m"), {JobID: "t:a", Delete: true}, upsert("e", "1m")}
		got, err = b.ChangeSchedules(b.ctx, c)
		if b.must(err); got[0].Err != nil || !errors.Is(got[1].Err, ledger.ErrQuota) || got[2].Err != nil || got[3].Err != nil {
			b.Fatalf("%+v", got)
		}
		b.inQuota(2)
	}},
	{"an invalid list changes nothing, and an invalid content is refused alone", func(b *fixture) {
		for _, items := range [][]ledger.ScheduleChange{
			{}, manyPuts(1001, "1m"), {upsert("a", "1m"), upsert("a", "1m")}, {upsert("", "1m")}, {upsert("-a", "1m")}, {upsert("a/b", "1m")},
			{upsert(strings.Repeat("a", 49), "1m")}, {{JobID: "u:a"}}, {{JobID: "t"}},
			{{JobID: "t:a", ScheduleContent: ledger.ScheduleContent{Expr: "1m", Data: make([]byte, ledger.MaxScheduleData+1)}}},
		} {
			_, err := b.ChangeSchedules(b.ctx, ledger.ChangeSchedulesRequest{Template: "t", Items: items, Rules: timing{}, Actor: someone})
			if !errors.Is(err, ledger.ErrInvalidSchedule) {
				b.Errorf("%.200v: %v", items, err)
			}
		}
		got := b.change(upsert("bad", "every day"), upsert("good", "1m"), upsert("past", at(b.time().Add(-2*time.Hour))))
		if !errors.Is(got[0].Err, ledger.ErrInvalidSchedule) || got[1].Err != nil || !errors.Is(got[2].Err, ledger.ErrInvalidSchedule) {
			b.Errorf("%+v", got)
		}
		b.inQuota(1)
	}},
	{"a list shows the schedules of a template by key, page by page", func(b *fixture) {
		b.change(append(manyPuts(12, "1m"), upsert("K", "1m"), upsert("k", "1m"), upsert("l", "1m"), upsert("k0", "1m"))...)
		_, err := b.ChangeSchedules(b.ctx, ledger.ChangeSchedulesRequest{Template: "u",
			Items: []ledger.ScheduleChange{{JobID: "u:k0000", ScheduleContent: upsert("", "1m").ScheduleContent}}, Rules: timing{}, Actor: someone})
		b.must(err)
		b.putSchedule(ledger.ScheduleChange{JobID: "t:k0003", Delete: true}, ledger.ScheduleDeleted)
		b.wantSchedules(ledger.ScheduleFilter{Template: "t", Limit: 3}, "K", "k", "k0")
		b.wantSchedules(ledger.ScheduleFilter{Template: "t", Limit: 3, AfterKey: "k0001"}, "k0002", "k0004", "k0005")
		b.wantSchedules(ledger.ScheduleFilter{Template: "t", AfterKey: "k0010"}, "k0011", "l")
		b.wantSchedules(ledger.ScheduleFilter{Template: "t", KeyPrefix: "k0", Limit: 2}, "k0", "k0000")
		b.wantSchedules(ledger.ScheduleFilter{Template: "t", KeyPrefix: "k001", AfterKey: "k0010"}, "k0011")
		b.wantSchedules(ledger.ScheduleFilter{Template: "t", KeyPrefix: "x"})
		counts, err := b.Templates(b.ctx)
		if b.must(err); !slices.Equal(counts, []ledger.TemplateCount{{Template: "t", Schedules: 15}, {Template: "u", Schedules: 1}}) {
			b.Errorf("templates: %+v", counts)
		}
	}},
}

// time reads the store's clock.
func (b *fixture) time() time.Time {
	b.Helper()
	counts, err := b.Counts(b.ctx)
	b.must(err)
	return counts.Now
}

func (b *fixture) inQuota(want int) {
	b.Helper()
	counts, err := b.Templates(b.ctx)
	b.must(err)
	if len(counts) != 1 || counts[0].Schedules != want {
		b.Errorf("schedules in the quota: %+v, want %d", counts, want)
	}
}

func (b *fixture) wantSchedules(f ledger.ScheduleFilter, want ...string) {
	b.Helper()
	list, err := b.Schedules(b.ctx, f)
	b.must(err)
	var keys []string
	for i := range list {
		keys = append(keys, list[i].Key())
	}
	if !slices.Equal(keys, want) {
		b.Errorf("%+v: %v, want %v", f, keys, want)
	}
}
