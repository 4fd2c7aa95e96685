package ledgertest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

var transactionCases = []rowsCase{
	{"a function that fails leaves nothing written", func(t *table) {
		r, failed := runAt("j", 0), errors.New("failed")
		t.insert(r)
		err := t.Write(t.Context(), "test", func(tx ledger.Tx) error {
			tx.Insert([]ledger.Row{runAt("j", 1)})
			tx.LockRuns([]string{r.ID})
			return errors.Join(tx.Update([]ledger.RowChange{delay(r, ledger.Planned)}),
				tx.PutIncidents([]ledger.Incident{incident("j", ledger.IncidentDead)}),
				tx.PutJobs([]ledger.JobChange{{JobRow: ledger.JobRow{Position: ledger.Position{JobID: "j"}, EndedAt: pastHour},
					Set: ledger.JobColRevision}}), failed)
		})
		if !errors.Is(err, failed) {
			t.Errorf("error %v", err)
		}
		same(t, "rows", ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.Find([]string{r.ID, runAt("j", 1).ID}) }),
			[]ledger.Row{r})
		if list := t.openIncidents(""); len(list) > 0 {
			t.Errorf("incidents %+v", list)
		}
	}},
	{"a read that writes fails, and leaves nothing written", func(t *table) {
		err := t.Read(t.Context(), "test", func(tx ledger.Tx) error {
			_, err := tx.Insert([]ledger.Row{runAt("j", 0)}).Get()
			return err
		})
		found := ask(t, func(tx ledger.Tx) ledger.Future[[]ledger.Row] { return tx.Find([]string{runAt("j", 0).ID}) })
		if err == nil || len(found) > 0 {
			t.Errorf("%d rows, error %v", len(found), err)
		}
	}},
	{"a transaction sees what it wrote, and has one time", func(t *table) {
		t.write(func(tx ledger.Tx) error {
			before, err := tx.Now()
			if err != nil {
				return err
			}
			tx.Insert([]ledger.Row{runAt("j", 0)})
			found, err := tx.Find([]string{runAt("j", 0).ID}).Get()
			if now, _ := tx.Now(); len(found) != 1 || !now.Equal(before) || !now.Equal(now.Truncate(time.Microsecond)) {
				t.Errorf("found %d rows; it was %s and is %s", len(found), before, now)
			}
			return err
		})
	}},
	{"a locked job is read after the transaction that has it locked", func(t *table) {
		j := ledger.JobRow{Position: ledger.Position{JobID: "j", Revision: 1, Watermark: pastHour}, Hash: "h", Body: []byte(`{}`)}
		t.putJob(ledger.JobChange{JobRow: j, Set: ledger.JobColRevision})
		t.together(8, func(tx ledger.Tx) error {
			jobs, err := tx.LockJobs([]string{"j"}).Get()
			if err != nil {
				return err
			}
			is := jobs[0]
			is.Watermark = is.Watermark.Add(time.Minute)
			return tx.PutJobs([]ledger.JobChange{ledger.DiffJobs(jobs[0], is)})
		})
		same(t, "the watermark", t.job("j").Watermark, pastHour.Add(8*time.Minute))
	}},
	{"a locked row is read after the transaction that has it locked", func(t *table) {
		r := runAt("j", 0)
		t.insert(r)
		t.together(8, func(tx ledger.Tx) error {
			rows, err := tx.LockRuns([]string{r.ID}).Get()
			if err != nil {
				return err
			}
			was := rows[0]
			rows[0].Failures++
			return tx.Update([]ledger.RowChange{ledger.DiffRows(&was, &rows[0])})
		})
		same(t, "the failures", t.row(r.ID).Failures, 8)
	}},
	{"transactions at the same time claim different runs", func(t *table) {
		for n := range 8 {
			t.insert(runAt("j", n))
		}
		var mu sync.Mutex
		var claimed []string
		for range 2 { // what others had locked was skipped
			t.together(4, func(tx ledger.Tx) error {
				due, err := tx.LockDue(ledger.DueQuery{Limit: 2}).Get()
				if err != nil {
					return err
				}
				changes, mine := make([]ledger.RowChange, len(due)), []string(nil)
				for i := range due {
					changes[i] = delay(due[i], ledger.Planned)
					changes[i].Row.SetDueAt(pastHour.Add(24 * time.Hour))
					mine = append(mine, due[i].ID)
				}
				if len(changes) == 0 {
					return nil
				}
				if err := tx.Update(changes); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				claimed = append(claimed, mine...)
				return nil
			})
		}
		slices.Sort(claimed)
		if len(claimed) != 8 || len(slices.Compact(claimed)) != 8 {
			t.Errorf("claimed %v", claimed)
		}
	}},
	{"incidents that are opened at the same time become one", func(t *table) {
		t.together(8, func(tx ledger.Tx) error {
			return tx.PutIncidents([]ledger.Incident{incident("j", ledger.IncidentDead)})
		})
		if list := t.openIncidents(""); len(list) != 1 || list[0].Count != 8 || list[0].Version != 8 {
			t.Errorf("%+v", list)
		}
	}},
	{"a row that is inserted at the same time is written once", func(t *table) {
		var mu sync.Mutex
		var results []ledger.Future[[]bool]
		t.together(8, func(tx ledger.Tx) error {
			late := tx.Insert([]ledger.Row{runAt("j", 0)})
			mu.Lock()
			defer mu.Unlock()
			results = append(results, late)
			return nil
		})
		written := 0
		for _, late := range results {
			if await(t, late)[0] {
				written++
			}
		}
		same(t, "written", written, 1)
	}},
}

// together runs f in n transactions at the same time, which have to succeed.
func (t *table) together(n int, f func(ledger.Tx) error) {
	t.Helper()
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() { errs[i] = t.Write(t.Context(), "test", f) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
