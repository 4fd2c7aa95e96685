// Package pgkeys is what the engines on PostgreSQL share, which keep keys in one table:
// the lock of a key, and the statements that place and take its row.
package pgkeys

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/cronce/cronce/idempotency/store"
)

// OutOfMemory is the SQLSTATE of a server that has no room for another lock.
const OutOfMemory = "53200"

// Room is what to do then.
const Room = "the server may have no room for more locks, of which each key takes one until its transaction ends: " +
	"commit smaller batches, or raise max_locks_per_transaction"

// Lock is the number of the key's advisory lock, for the quoted name of the
// table with its schema. Two keys with one number only wait for each other.
func Lock(table string, k store.Key) int64 {
	text := make([]byte, 0, 512)
	for _, part := range []string{table, k.Scope, k.Principal, k.Value} {
		text = append(strconv.AppendInt(text, int64(len(part)), 10), ':')
		text = append(text, part...)
	}
	digest := sha256.Sum256(text)
	return int64(binary.BigEndian.Uint64(digest[:]))
}
