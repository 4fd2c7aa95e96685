package postgres

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// binding is the parameters of a statement for many rows. A value that all rows share is
// sent once, as a scalar; of the others, there is an array of each. The text of a
// statement follows from which are scalars.
type binding struct {
	args    params
	scalars uint64 // a bit for each parameter
}

// fewRows is below how many rows a parameter is an array although all share its value: a
// statement then has fewer texts, each of which is planned.
const fewRows = 16

// bind adds the next parameter. If there is one row, every parameter is a scalar.
func bind[T any](b *binding, d datatype, rows []T, put func([]byte, *T) []byte) {
	if len(rows) > 1 && (len(rows) < fewRows || !alike(rows, put)) {
		array(&b.args, d, rows, put)
		return
	}
	b.scalars |= 1 << len(b.args.values)
	b.args.add(d, put(nil, &rows[0]))
}

// alike reports whether all rows have the same value.
func alike[T any](rows []T, put func([]byte, *T) []byte) bool {
	first := put(nil, &rows[0])
	var other []byte
	for i := range rows[1:] {
		if other = put(other[:0], &rows[i+1]); !bytes.Equal(first, other) {
			return false
		}
	}
	return true
}

// table is the text of a binding: the arrays are a table u.
type table struct {
	scalars    uint64
	parameters int
	arrays     []string
	columns    []string
}

func tableOf(scalars uint64) *table { return &table{scalars: scalars} }

// value returns the expression of the next parameter.
func (t *table) value(name string) string {
	t.parameters++
	parameter := fmt.Sprintf("$%d", t.parameters)
	if t.scalars&(1<<(t.parameters-1)) != 0 {
		return parameter
	}
	t.arrays, t.columns = append(t.arrays, parameter), append(t.columns, name)
	return "u." + name
}

// from returns the clause that makes the table; without arrays, there is one row and none is
// needed.
func (t *table) from() string {
	if len(t.arrays) == 0 {
		return ""
	}
	return ` FROM unnest(` + strings.Join(t.arrays, ", ") + `) AS u (` + strings.Join(t.columns, ", ") + `)`
}

// textCache keeps the texts of statements, as many as a session may have names for.
type textCache[K comparable] struct {
	mu    sync.Mutex
	texts map[K]string
}

// text returns the text of a key, which build makes at the first call. Beyond the bound, it makes
// it at each.
func (c *textCache[K]) text(key K, build func() string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text, ok := c.texts[key]; ok {
		return text
	}
	text := build()
	if c.texts == nil {
		c.texts = map[K]string{}
	}
	if len(c.texts) < maxPrepared {
		c.texts[key] = text
	}
	return text
}
