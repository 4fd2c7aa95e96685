package postgres

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/callcodec"
)

// insertTable are the columns that a new row may have a value of.
var insertTable = slices.DeleteFunc(slices.Clone(runTable), func(c column) bool { return c.of&neverNew != 0 })

// neverNew are the groups of fields that a new row has no value of: its insert leaves them out.
const neverNew = ledger.ColFailures | ledger.ColReplayed | ledger.ColStatus | ledger.ColWait | ledger.ColAccepted | ledger.ColProgress |
	ledger.ColAcked | ledger.ColRerun | ledger.ColFan

// Insert writes new rows, in order, and reports which it wrote.
func (t *tx) Insert(list []ledger.Row) ledger.Future[[]bool] {
	rows := make([]encodedRow, len(list))
	var calls callcodec.Encoder
	for i := range list {
		var err error
		if rows[i], err = encodeRow(&list[i], &calls); err != nil {
			t.p.fail(fmt.Errorf("run %s: %w", list[i].ID, err))
			return ledger.ResolvedFuture[[]bool](nil, t.p.failed)
		}
	}
	var b binding
	for _, c := range insertTable {
		bind(&b, c.datatype, rows, c.put)
	}
	q := query{sql: insertSQL(b.scalars), args: b.args}
	inserted, next := make([]bool, len(list)), 0
	q.row = func(v *values) error { // they are returned in their order
		for id := v.Text(); list[next].ID != id; {
			if next++; next == len(list) {
				return fmt.Errorf("run %s was inserted out of order; this is a defect of cronce, please report it", id)
			}
		}
		inserted[next] = true
		return nil
	}
	wait := t.queue(q)
	return ledger.LazyFuture(func() ([]bool, error) {
		err := wait()
		return inserted, err
	})
}

// inserts are the statements of Insert, by which of their parameters are scalars.
var inserts textCache[uint64]

// insertSQL inserts rows in order.
func insertSQL(scalars uint64) string {
	return inserts.text(scalars, func() string {
		t := tableOf(scalars)
		values := make([]string, len(insertTable))
		for i, c := range insertTable {
			values[i] = t.value(c.name)
		}
		return `INSERT INTO runs (` + names("", insertTable) + `) SELECT ` + strings.Join(values, ", ") + t.from() +
			` ON CONFLICT (run_id) DO NOTHING RETURNING run_id`
	})
}

// updateShape identifies the statement that a change is a part of.
type updateShape struct {
	set      ledger.Columns
	from     ledger.State
	unlisted bool
	attempt  attemptPlace
	fenced   bool
	scalars  uint64 // parameters
	guarded  bool   // the statement fails unless it finds each row in its change's From
}

// attemptPlace is the place of the attempt of a change.
type attemptPlace uint8

const (
	noAttempt attemptPlace = iota
	inRow                  // the first: few runs have another
	inTable
)

// changeRow is a change and its place in the list.
type changeRow struct {
	encodedRow
	change *ledger.RowChange
	place  int
}

// shapeOf returns the shape of a change, without what its statement's other changes decide.
func shapeOf(c *ledger.RowChange) updateShape {
	s := updateShape{set: c.Set, from: c.From, unlisted: c.Unlisted, fenced: c.LeasedAs != ""}
	switch {
	case c.Attempt == nil:
	case c.Attempt.N == 1:
		s.attempt = inRow
	default:
		s.attempt = inTable
	}
	return s
}

func (t *tx) Update(changes []ledger.RowChange) error {
	return t.write(changes, true, nil)
}

// UpdateFenced queues the changes. It is known which were written once the transaction's next
// flush, at the latest its commit, has returned.
func (t *tx) UpdateFenced(changes []ledger.RowChange) ledger.Future[[]bool] {
	updated := make([]bool, len(changes))
	if err := t.write(changes, false, updated); err != nil {
		t.p.fail(err)
		return ledger.ResolvedFuture[[]bool](nil, err)
	}
	wait := t.flushed()
	return ledger.LazyFuture(func() ([]bool, error) {
		err := wait()
		return updated, err
	})
}

// write queues changes. Those of one shape are one statement, in the order of their runs'
// IDs.
func (t *tx) write(changes []ledger.RowChange, guarded bool, updated []bool) error {
	var order []updateShape
	var calls callcodec.Encoder
	shapes := map[updateShape][]changeRow{}
	places := make([]int, len(changes))
	for i := range places {
		places[i] = i
	}
	sort.Slice(places, func(i, k int) bool { return changes[places[i]].Row.ID < changes[places[k]].Row.ID })
	for _, i := range places {
		c := &changes[i]
		r := changeRow{encodedRow: encodedRow{Row: c.Row}, change: c, place: i}
		if c.Set&ledger.ColCall != 0 {
			var err error
			if r.encodedRow, err = encodeRow(c.Row, &calls); err != nil {
				return fmt.Errorf("run %s: %w", c.Row.ID, err)
			}
		}
		shape := shapeOf(c)
		shape.guarded = guarded
		if _, known := shapes[shape]; !known {
			order = append(order, shape)
		}
		shapes[shape] = append(shapes[shape], r)
	}
	if len(order) > 1 && !guarded {
		t.lockInOrder(changes)
	}
	for _, shape := range order {
		t.update(shape, shapes[shape], updated)
	}
	return nil
}

// lockInOrder locks the runs of changes in the order of their IDs. The statements of
// several shapes would not.
func (t *tx) lockInOrder(changes []ledger.RowChange) {
	ids := make([]string, len(changes))
	for i := range changes {
		ids[i] = changes[i].Row.ID
	}
	_ = t.Exec(`SELECT FROM runs WHERE run_id = ANY ($1) ORDER BY run_id FOR UPDATE`, ids) // it is queued
}

// update queues the statement of a shape for its rows.
func (t *tx) update(shape updateShape, rows []changeRow, updated []bool) {
	var b binding
	bind(&b, int8Kind, rows, func(b []byte, r *changeRow) []byte { return appendInt8(b, int64(r.place)) })
	bind(&b, textKind, rows, func(b []byte, r *changeRow) []byte { return appendText(b, r.ID) })
	bind(&b, textKind, rows, func(b []byte, r *changeRow) []byte { return appendText(b, string(r.change.From)) })
	if shape.fenced {
		bind(&b, textKind, rows, func(b []byte, r *changeRow) []byte { return appendText(b, r.change.LeasedAs) })
	}
	if shape.attempt != noAttempt {
		for _, c := range attemptTable {
			bind(&b, c.datatype, rows, func(b []byte, r *changeRow) []byte { return c.put(b, r.change.Attempt) })
		}
	}
	if shape.attempt == inTable {
		bind(&b, int4Kind, rows, func(b []byte, r *changeRow) []byte { return appendInt4(b, r.change.Attempt.N) })
	}
	for _, c := range changedColumns(shape.set) {
		bind(&b, c.datatype, rows, func(b []byte, r *changeRow) []byte { return c.put(b, &r.encodedRow) })
	}
	shape.scalars = b.scalars
	q := query{sql: updateSQL(shape), args: b.args, row: func(v *values) error {
		if !shape.guarded {
			updated[v.Int()] = true
		}
		return nil
	}}
	if shape.guarded {
		q.args.int8(int64(len(rows)))
	}
	t.p.add(q)
}

// updates are the statements of shapes.
var updates textCache[updateShape]

// updateSQL returns the statement of a shape. Its parameters are in the order in which
// update binds them.
func updateSQL(s updateShape) string {
	return updates.text(s, func() string {
		t, set := tableOf(s.scalars), []string(nil)
		if !s.unlisted {
			set = append(set, `changed = DEFAULT`)
		}
		done := t.value("place") + `::bigint AS place`
		where := ` WHERE r.run_id = ` + t.value("id") + ` AND r.state = ` + t.value("was")
		if s.fenced {
			where += ` AND r.lease_token = ` + t.value("leased_as")
		}
		var attempt []string
		for _, c := range attemptTable {
			switch s.attempt {
			case inRow:
				set = append(set, "first_"+c.name+" = "+t.value("a_"+c.name))
			case inTable:
				attempt = append(attempt, c.name)
				done += `, ` + t.value("a_"+c.name) + ` AS a_` + c.name
			}
		}
		if s.attempt == inTable {
			attempt = append(attempt, "n")
			done += `, ` + t.value("a_n") + ` AS a_n, r.run_id`
		}
		for _, c := range changedColumns(s.set) {
			set = append(set, c.name+" = "+t.value(c.name))
		}
		text := `UPDATE runs r SET ` + strings.Join(set, ", ") + t.from() + where + ` RETURNING ` + done
		if !s.guarded && s.attempt != inTable {
			return text
		}
		text = `WITH done AS (` + text + `)`
		if s.attempt == inTable {
			text += `, kept AS (INSERT INTO attempts (run_id, ` + strings.Join(attempt, ", ") + `)
				SELECT run_id, a_` + strings.Join(attempt, ", a_") + ` FROM done ON CONFLICT DO NOTHING)`
		}
		if s.guarded { // a missing row divides by 0
			return text + fmt.Sprintf(` SELECT 1 / (count(*) = $%d)::int FROM done`, t.parameters+1)
		}
		return text + ` SELECT place FROM done`
	})
}

// Delete deletes rows, with their attempts.
func (t *tx) Delete(ids []string) error {
	return errors.Join(t.Exec(`DELETE FROM attempts WHERE run_id = ANY ($1)`, ids), t.Exec(`DELETE FROM runs WHERE run_id = ANY ($1)`, ids))
}
