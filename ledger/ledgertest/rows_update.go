package ledgertest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

var updateCases = []rowsCase{
	{"a change of any field is written, and of no other", func(t *table) {
		for _, state := range []ledger.State{ledger.Planned, ledger.Running, ledger.Dead} {
			for _, f := range changingFields() {
				if in, bound := fieldsOf[f.name]; bound && !slices.Contains(in, state) {
					continue
				}
				r := inState(state, runAt(fmt.Sprintf("%s-%s", f.name, state), 0))
				t.insert(r)
				was := t.row(r.ID)
				is := was
				due := is.DueAt()
				f.change(&is)
				if f.name == "State" {
					is.SetDueAt(due)
				}
				c := ledger.DiffRows(&was, &is)
				if strings.HasPrefix(f.name, "Call.") {
					c.Set |= ledger.ColCall
				}
				if c.Set == 0 {
					t.Errorf("%s: Changed does not see it", f.name)
				}
				t.write(func(tx ledger.Tx) error {
					tx.LockRuns([]string{r.ID})
					return tx.Update([]ledger.RowChange{c})
				})
				same(t, f.name, t.row(r.ID), is)
			}
		}
	}},
	{"a change of a locked row that is in another state fails the transaction", func(t *table) {
		one, other := runAt("j", 1), runAt("j", 2)
		t.insert(one, other)
		err := t.Write(t.Context(), "test", func(tx ledger.Tx) error {
			return tx.Update([]ledger.RowChange{delay(one, ledger.Planned), delay(other, ledger.Retrying)})
		})
		if err == nil {
			t.Error("it was written")
		}
		same(t, "the other row", t.row(one.ID), one)
	}},
	{"a fenced change leaves out rows that are gone, in another state or under another lease", func(t *table) {
		var changes []ledger.RowChange
		fits, gone := inState(ledger.Running, runAt("j", 0)), runAt("j", 1)
		moved, taken := runAt("j", 2), inState(ledger.Running, runAt("j", 3))
		t.insert(fits, moved, taken)
		for _, r := range []ledger.Row{gone, taken, fits, moved} {
			c := delay(r, ledger.Running)
			c.LeasedAs = "t"
			if r.ID == taken.ID {
				c.LeasedAs = "another"
			}
			changes = append(changes, c)
		}
		var written ledger.Future[[]bool]
		t.write(func(tx ledger.Tx) error {
			written = tx.UpdateFenced(changes)
			return nil
		})
		same(t, "written, after the commit", await(t, written), []bool{false, false, true, false})
		same(t, "the row that is leased under another token", t.row(taken.ID), taken)
		fits.SetDueAt(fits.DueAt().Add(time.Hour))
		same(t, "the changed row", t.row(fits.ID), fits)
	}},
	{"a change with an attempt of any number is written", func(t *table) {
		r := inState(ledger.Running, runAt("j", 0))
		t.insert(r)
		for n := range 3 {
			c := delay(t.row(r.ID), ledger.Running)
			c.Attempt = &ledger.Attempt{N: n + 1, StartedAt: pastHour, FinishedAt: pastHour, Answer: ledger.AnswerLost}
			t.write(func(tx ledger.Tx) error {
				tx.LockRuns([]string{r.ID})
				return tx.Update([]ledger.RowChange{c})
			})
		}
		r.SetDueAt(r.DueAt().Add(3 * time.Hour))
		same(t, "the row", t.row(r.ID), r)
	}},
}

// delay returns a change that makes a row due an hour later.
func delay(r ledger.Row, from ledger.State) ledger.RowChange {
	is := r
	is.SetDueAt(r.DueAt().Add(time.Hour))
	c := ledger.DiffRows(&r, &is)
	c.From = from
	return c
}

// field is a field of a row, and gives it another value.
type field struct {
	name   string
	change func(*ledger.Row)
}

// fieldsOf are the states whose runs have a field.
var fieldsOf = map[string][]ledger.State{
	"State":       {ledger.Planned, ledger.Running}, // becomes retrying
	"NextAt":      {ledger.Planned},
	"LeasedUntil": {ledger.Running},
	"FinishedAt":  {ledger.Dead},
	"Waiting":     {ledger.Planned},
	"HasSlot":     {ledger.Planned, ledger.Running},
}

// constant are the fields of a row that never change.
var constant = []string{"ID", "JobID", "Parent", "ScheduledAt", "Until", "Revision", "PlannedAt"}

// changingFields returns all fields of a row but the constant ones, those of its call too.
func changingFields() (list []field) {
	var walk func(name string, t reflect.Type, of func(*ledger.Row) reflect.Value)
	walk = func(name string, t reflect.Type, of func(*ledger.Row) reflect.Value) {
		for i := range t.NumField() {
			f := t.Field(i)
			value := func(r *ledger.Row) reflect.Value { return of(r).Field(i) }
			switch {
			case !f.IsExported() || name == "" && slices.Contains(constant, f.Name):
			case f.Anonymous, f.Type == reflect.TypeFor[ledger.CallSpec](), f.Type == reflect.TypeFor[ledger.WaitReason](),
				f.Type == reflect.TypeFor[ledger.Fan]():
				walk(map[bool]string{false: f.Name + "."}[f.Anonymous], f.Type, value)
			default:
				list = append(list, field{name + f.Name, func(r *ledger.Row) { setOther(value(r)) }})
			}
		}
	}
	walk("", reflect.TypeFor[ledger.Row](), func(r *ledger.Row) reflect.Value { return reflect.ValueOf(r).Elem() })
	return list
}

// setOther sets a field to a value that it did not have.
func setOther(v reflect.Value) {
	switch old := v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 2, 3, 4, 5, 6, 7000, time.UTC)))
	case ledger.State:
		v.Set(reflect.ValueOf(ledger.Retrying))
	case ledger.Trigger:
		v.Set(reflect.ValueOf(ledger.ByBackfill))
	case ledger.WaitCode:
		v.Set(reflect.ValueOf(ledger.WaitNoToken))
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"b":  2}`)))
	case []string:
		v.Set(reflect.ValueOf([]string{"x"}))
	case []time.Duration:
		v.Set(reflect.ValueOf([]time.Duration{time.Minute}))
	case *ledger.Each:
		v.Set(reflect.ValueOf(&ledger.Each{Path: "/list", Max: 7}))
	case map[string]string:
		v.Set(reflect.ValueOf(map[string]string{"K": "v"}))
	case bool:
		v.SetBool(!old)
	case float64:
		v.SetFloat(old + 0.5)
	default:
		if v.CanInt() {
			v.SetInt(v.Int() + 1)
		} else {
			v.SetString(v.String() + "x")
		}
	}
}
