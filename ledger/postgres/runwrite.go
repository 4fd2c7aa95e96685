package postgres

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cronce/cronce/ledger"
)

// insertSQL inserts rows in order. Two constraints can refuse a row: the run ID's and the slot's.
var insertSQL = `
	INSERT INTO runs (` + names("", runTable) + `)
	SELECT ` + names("u.", runTable) + `
	FROM unnest(` + parameters(1, len(runTable)) + `) WITH ORDINALITY AS u (` + names("", runTable) + `, n)
	ORDER BY u.n
	ON CONFLICT DO NOTHING
	RETURNING run_id`

// insertOneSQL inserts a row at a smaller cost.
var insertOneSQL = `
	INSERT INTO runs (` + names("", runTable) + `)
	VALUES (` + parameters(1, len(runTable)) + `)
	ON CONFLICT DO NOTHING
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
func (t *tx) Insert(list []ledger.Row) ([]bool, error) {
	rows := make([]stored, len(list))
	for i := range list {
		var err error
		if rows[i], err = freeze(&list[i]); err != nil {
			return nil, fmt.Errorf("run %s: %w", list[i].ID, err)
		}
	}
	q := query{sql: insertSQL}
	if len(rows) == 1 {
		q.sql = insertOneSQL
	}
	for _, c := range runTable {
		put(&q.args, c.datatype, rows, c.put)
	}
	written, err := ask(t, q, text)
	inserted := make([]bool, len(list))
	for i := range list { // they are returned in their order
		if len(written) > 0 && written[0] == list[i].ID {
			inserted[i], written = true, written[1:]
		}
	}
	return inserted, err
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

// Update writes the changes, each if its row is as the change expects it. Changes of one
// shape are one statement, in the order of their runs' IDs.
func (t *tx) Update(changes []ledger.Change) ([]bool, error) {
	updated := make([]bool, len(changes))
	var order []updateShape
	shapes := map[updateShape][]changeRow{}
	for i := range changes {
		c := &changes[i]
		r := changeRow{stored: stored{Row: c.Row}, change: c, place: i}
		if c.Set&ledger.ColCall != 0 {
			var err error
			if r.stored, err = freeze(c.Row); err != nil {
				return nil, fmt.Errorf("run %s: %w", c.Row.ID, err)
			}
		}
		shape := shapeOf(c)
		if _, known := shapes[shape]; !known {
			order = append(order, shape)
		}
		shapes[shape] = append(shapes[shape], r)
	}
	if len(order) > 1 {
		t.lockInOrder(changes)
	}
	for _, shape := range order {
		rows := shapes[shape]
		slices.SortFunc(rows, func(a, b changeRow) int { return cmp.Compare(a.ID, b.ID) })
		t.update(shape, rows, updated)
	}
	return updated, t.p.flush()
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
		updated[v.int()] = true
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
	text := `UPDATE runs r SET ` + strings.Join(set, ", ") + ` FROM ` + given(parameters, s.one) + where
	if s.attempt == inTable {
		text = `WITH done AS (` + text + ` RETURNING u.*), kept AS (
			INSERT INTO attempts (run_id, ` + strings.Join(attempt, ", ") + `)
			SELECT id, a_` + strings.Join(attempt, ", a_") + ` FROM done ON CONFLICT DO NOTHING)
			SELECT place FROM done`
	} else {
		text += ` RETURNING u.place`
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
