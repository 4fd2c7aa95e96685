// Package advisory is the lock of a key on PostgreSQL, which all engines on one
// table share.
package advisory

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/cronce/cronce/idempotency"
)

// Lock is the number of the key's advisory lock, for the quoted name of the
// table with its schema. Two keys with one number only wait for each other.
func Lock(table string, k idempotency.Key) int64 {
	text := make([]byte, 0, 512)
	for _, part := range []string{table, k.Scope, k.Principal, k.Value} {
		text = append(strconv.AppendInt(text, int64(len(part)), 10), ':')
		text = append(text, part...)
	}
	digest := sha256.Sum256(text)
	return int64(binary.BigEndian.Uint64(digest[:]))
}
