package ledger

import (
	"strconv"
	"testing"
	"time"
)

func TestTheSpanOfCountedHoursGrowsByOneThatIsOver(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(hours float64) time.Time { return noon.Add(time.Duration(hours * float64(time.Hour))) }
	span := func(from, to float64) HourSpan { return HourSpan{at(from), at(to)} }
	for what, c := range map[string]struct {
		span        HourSpan
		now, oldest float64
		want        HourSpan
		hour        float64 // 0: none
	}{
		"no run":                        {HourSpan{}, 10, 10, HourSpan{}, 0},
		"the first run's hour lasts":    {HourSpan{}, 10.9, 10.1, HourSpan{}, 0},
		"the hour has just ended":       {HourSpan{}, 11.2, 10.1, HourSpan{}, 0},
		"the hour is over":              {HourSpan{}, 11.3, 10.1, span(10, 11), 10},
		"the newest hour first":         {HourSpan{}, 11.3, 1, span(10, 11), 10},
		"the next hour, also later":     {span(10, 11), 15.3, 1, span(10, 12), 11},
		"then older hours":              {span(10, 11), 11.5, 1, span(9, 11), 9},
		"up to the oldest run":          {span(1, 11), 11.5, 1.5, span(1, 11), 0},
		"a clock that was set back":     {span(1, 11), 7.5, 1.5, span(1, 7), 0},
		"a clock set back before all":   {span(10, 11), 5.5, 10, HourSpan{}, 0},
		"what is too old is left out":   {span(-91*24, 11), 11.5, -91 * 24, span(-91*24+11, 11), 0},
		"all that was counted is old":   {span(1, 2), 93 * 24, 1, span(93*24-2, 93*24-1), 93*24 - 2},
		"runs that were planned ahead":  {HourSpan{}, 10, 30, HourSpan{}, 0},
		"an older run came, with a gap": {span(10, 11), 11.5, 5, span(9, 11), 9},
	} {
		s := c.span
		hour := s.extend(at(c.now), at(c.oldest))
		if s != c.want || c.hour == 0 && !hour.IsZero() || c.hour != 0 && !hour.Equal(at(c.hour)) {
			t.Errorf("%s: %+v and the hour %s, want %+v and %s", what, s, hour, c.want, at(c.hour))
		}
	}
}

func TestHoursOfRunsAreReadFromTheirIDs(t *testing.T) {
	from, to := time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	got := hourKeys([]string{
		"b@2026-03-01T02:59:59Z", "a@2026-03-01T02:00:00Z~x", "a@2026-03-01T02:30:00Z/2026-03-01T09:00:00Z", "a@2026-03-01T01:00:00Z",
		"a@2026-03-01T03:00:00Z", "a@2026-03-01T03:00:00Z~x", "a@2026-03-01T00:59:59Z", "a@9", "a@2026-03-01Tx", "a",
	}, from, to)
	want := []HourKey{{from, "a"}, {from.Add(time.Hour), "a"}, {from.Add(time.Hour), "b"}}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got[i], want[i])
		}
	}
}

// hourTx has no rows of hours, and notes what is added and deleted.
type hourTx struct {
	Tx
	added, deleted int
}

func (t *hourTx) HourSpan() Future[HourSpan] { return Future[HourSpan]{} }
func (t *hourTx) HoursIn(time.Time, time.Time, bool, int) Future[[]HourRow] {
	return Future[[]HourRow]{}
}
func (t *hourTx) PutHourSpan(HourSpan) error    { return nil }
func (t *hourTx) PutHours(rows []HourRow) error { t.added += len(rows); return nil }
func (t *hourTx) DeleteHours(_ time.Time, limit int) error {
	t.deleted += limit
	return nil
}

// Else the table grows without end.
func TestAStepMayDeleteMoreRowsThanItAdds(t *testing.T) {
	for _, jobs := range []int{1, deleteAtOnce, 4 * deleteAtOnce} {
		u := rollUp{hour: time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC)}
		for i := range jobs {
			u.counts = append(u.counts, RunCount{JobID: strconv.Itoa(i), State: Succeeded, Count: 1, Late: NoBucket, Took: NoBucket})
		}
		var tx hourTx
		if err := u.store(&tx); err != nil || tx.deleted <= tx.added {
			t.Errorf("%d jobs: up to %d rows deleted, %d added, %v", jobs, tx.deleted, tx.added, err)
		}
	}
}
