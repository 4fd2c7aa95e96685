package postgres

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cronce/cronce/ledger"
)

// insertSQL inserts rows in order.
var insertSQL = `
	INSERT INTO runs (` + names("", runTable) + `)
	SELECT ` + names("u.", runTable) + `
	FROM unnest(` + parameters(1, len(runTable)) + `) WITH ORDINALITY AS u (` + names("", runTable) + `, n)
	ORDER BY u.n
	ON CONFLICT (run_id) DO NOTHING
	RETURNING run_id`

// insertOneSQL inserts a row at a smaller cost.
var insertOneSQL = `
	INSERT INTO runs (` + names("", runTable) + `)
	VALUES (` + parameters(1, len(runTable)) + `)
	ON CONFLICT (run_id) DO NOTHING
	RETURNING run_id`

// parameters lists n parameters.
func parameters(first, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", first+i)
	}
	return strings.Join(list, ", ")
}

// Insert writes new rows, in order, and reports which it wrote.
func (t *tx) Insert(list []ledger.Row) ledger.Later[[]bool] {
	rows := make([]stored, len(list))
	for i := range list {
		var err error
		if rows[i], err = freeze(&list[i]); err != nil {
			t.p.fail(fmt.Errorf("run %s: %w", list[i].ID, err))
			return ledger.Known[[]bool](nil, t.p.failed)
		}
	}
	q := query{sql: insertSQL}
	if len(rows) == 1 {
		q.sql = insertOneSQL
	}
	for _, c := range runTable {
		put(&q.args, c.datatype, rows, c.put)
	}
	inserted, next := make([]bool, len(list)), 0
	q.row = func(v *values) error { // they are returned in their order
		for id := v.text(); list[next].ID != id; {
			next++
		}
		inserted[next] = true
		return nil
	}
	t.p.add(q)
	return later(t, func() []bool { return inserted })
}

// put adds the values of one row, or an array of those of many.
func put[T any](p *params, d datatype, rows []T, f func([]byte, *T) []byte) {
	if len(rows) == 1 {
		p.add(d, f(nil, &rows[0]))
		return
	}
	pointers := make([]*T, len(rows))
	for i := range rows {
		pointers[i] = &rows[i]
	}
	array(p, d, pointers, f)
}

// updateShape is what makes two changes parts of one statement.
type updateShape struct {
	set      ledger.Columns
	unlisted bool
	attempt  attemptPlace
	fenced   bool
	one      bool
	guarded  bool // it fails unless it writes all rows
}

// attemptPlace is where the attempt of a change is kept.
type attemptPlace uint8

const (
	noAttempt attemptPlace = iota
	inRow                  // the first: few runs have another
	inTable
)

// changeRow is a change and its place in the list.
type changeRow struct {
	stored
	change *ledger.Change
	place  int
}

func shapeOf(c *ledger.Change) updateShape {
	s := updateShape{set: c.Set, unlisted: c.Unlisted, fenced: c.LeasedAs != ""}
	switch {
	case c.Attempt == nil:
	case c.Attempt.N == 1:
		s.attempt = inRow
	default:
		s.attempt = inTable
	}
	return s
}

// Update writes changes of rows that are locked: all of them, or the transaction fails.
func (t *tx) Update(changes []ledger.Change) error {
	return t.write(changes, true, nil)
}

// UpdateFenced writes the changes, each if its row is as the change expects it.
func (t *tx) UpdateFenced(changes []ledger.Change) ledger.Later[[]bool] {
	updated := make([]bool, len(changes))
	if err := t.write(changes, false, updated); err != nil {
		t.p.fail(err)
		return ledger.Known[[]bool](nil, err)
	}
	return later(t, func() []bool { return updated })
}

// write queues changes. Those of one shape are one statement, in the order of their runs'
// IDs.
func (t *tx) write(changes []ledger.Change, guarded bool, updated []bool) error {
	var order []updateShape
	shapes := map[updateShape][]changeRow{}
	for i := range changes {
		c := &changes[i]
		r := changeRow{stored: stored{Row: c.Row}, change: c, place: i}
		if c.Set&ledger.ColCall != 0 {
			var err error
			if r.stored, err = freeze(c.Row); err != nil {
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
		rows := shapes[shape]
		slices.SortFunc(rows, func(a, b changeRow) int { return cmp.Compare(a.ID, b.ID) })
		t.update(shape, rows, updated)
	}
	return nil
}

// lockInOrder locks the runs of changes in the order of their IDs. The statements of
// several shapes would not.
func (t *tx) lockInOrder(changes []ledger.Change) {
	ids := make([]string, len(changes))
	for i := range changes {
		ids[i] = changes[i].Row.ID
	}
	q := query{sql: `SELECT FROM runs WHERE run_id = ANY ($1) ORDER BY run_id FOR UPDATE`}
	q.args.texts(ids)
	t.p.add(q)
}

func (t *tx) update(shape updateShape, rows []changeRow, updated []bool) {
	shape.one = len(rows) == 1
	q := query{sql: updateSQL(shape), row: func(v *values) error {
		if place := v.int(); !shape.guarded {
			updated[place] = true
		}
		return nil
	}}
	put(&q.args, int8Kind, rows, func(b []byte, r *changeRow) []byte { return appendInt8(b, int64(r.place)) })
	put(&q.args, textKind, rows, func(b []byte, r *changeRow) []byte { return appendText(b, r.ID) })
	put(&q.args, textKind, rows, func(b []byte, r *changeRow) []byte { return appendText(b, string(r.change.From)) })
	if shape.fenced {
		put(&q.args, textKind, rows, func(b []byte, r *changeRow) []byte { return appendText(b, r.change.LeasedAs) })
	}
	if shape.attempt != noAttempt {
		for _, c := range attemptTable {
			put(&q.args, c.datatype, rows, func(b []byte, r *changeRow) []byte { return c.put(b, r.change.Attempt) })
		}
	}
	if shape.attempt == inTable {
		put(&q.args, int4Kind, rows, func(b []byte, r *changeRow) []byte { return appendInt4(b, r.change.Attempt.N) })
	}
	for _, c := range changedColumns(shape.set) {
		put(&q.args, c.datatype, rows, func(b []byte, r *changeRow) []byte { return c.put(b, &r.stored) })
	}
	if shape.guarded {
		q.args.int8(int64(len(rows)))
	}
	t.p.add(q)
}

// updates are the statements of shapes.
var updates sync.Map

// updateSQL returns the statement of a shape: the parameters are joined as u.
func updateSQL(s updateShape) string {
	if text, known := updates.Load(s); known {
		return text.(string)
	}
	parameters, set := []string{"place", "id", "was"}, []string(nil)
	where := ` WHERE r.run_id = u.id AND r.state = u.was`
	if !s.unlisted {
		set = append(set, `changed = DEFAULT`)
	}
	if s.fenced {
		parameters = append(parameters, "leased_as")
		where += ` AND r.lease_token = u.leased_as`
	}
	var attempt []string
	for _, c := range attemptTable {
		if s.attempt != noAttempt {
			parameters = append(parameters, "a_"+c.name)
			attempt = append(attempt, c.name)
		}
		if s.attempt == inRow {
			set = append(set, "first_"+c.name+" = u.a_"+c.name)
		}
	}
	if s.attempt == inTable {
		parameters = append(parameters, "a_n")
		attempt = append(attempt, "n")
	}
	for _, c := range changedColumns(s.set) {
		parameters = append(parameters, c.name)
		set = append(set, c.name+" = u."+c.name)
	}
	text := `WITH done AS (UPDATE runs r SET ` + strings.Join(set, ", ") + ` FROM ` + given(parameters, s.one) + where + ` RETURNING u.*)`
	if s.attempt == inTable {
		text += `, kept AS (
			INSERT INTO attempts (run_id, ` + strings.Join(attempt, ", ") + `)
			SELECT id, a_` + strings.Join(attempt, ", a_") + ` FROM done ON CONFLICT DO NOTHING)`
	}
	if s.guarded { // it divides by 0
		text += ` SELECT 1 / (count(*) = $` + strconv.Itoa(len(parameters)+1) + `)::int FROM done`
	} else {
		text += ` SELECT place FROM done`
	}
	updates.Store(s, text)
	return text
}

// given is the parameters as a table u: of one row, or of arrays.
func given(names []string, one bool) string {
	list := parameters(1, len(names))
	if one {
		return `(VALUES (` + list + `)) AS u (` + strings.Join(names, ", ") + `)`
	}
	return `unnest(` + list + `) AS u (` + strings.Join(names, ", ") + `)`
}

// Delete deletes rows, with their attempts.
func (t *tx) Delete(ids []string) error {
	for _, sql := range []string{`DELETE FROM attempts WHERE run_id = ANY ($1)`, `DELETE FROM runs WHERE run_id = ANY ($1)`} {
		q := query{sql: sql}
		q.args.texts(ids)
		t.p.add(q)
	}
	return nil
}
