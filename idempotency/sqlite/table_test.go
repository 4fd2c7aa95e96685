package sqlite_test

import "testing"

func TestATablesNameIsANameWhateverItIs(t *testing.T) {
	for _, tc := range []struct{ name, table, sql string }{
		{"a word of SQL", "order", `"order"`},
		{"a hyphen", "my-keys", `"my-keys"`},
		{"a mark and a statement", `k"; DROP TABLE effects; --`, `"k""; DROP TABLE effects; --"`},
		{"a database's name before it", "main.my-keys", `"my-keys"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := open(t, fresh(t))
			must(t, db, `ALTER TABLE idempotency_keys RENAME TO `+tc.sql)
			k := kit(t, db, tc.table)
			paid(t, k, "key", false)
			paid(t, k, "key", true)
		})
	}
}
