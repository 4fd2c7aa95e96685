package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/cronce/cronce/internal/plaintext"
)

// Freeze adds a part of a parent's list, under the lease of the attempt that fetched it. The
// First part deletes what an earlier attempt has left. Nothing is made due: the outcome
// FannedOut, after the last part, makes the list final. To repeat a part changes nothing. Parts
// of a lost lease change nothing either: Fenced.
type Freeze struct {
	Lease
	First   bool
	Members []Member
}

// MaxMemberKey is the maximum length of a member's key, in bytes.
const MaxMemberKey = 512

// Validate returns ErrInvalidRun for members whose run IDs are not the parent's.
func (f Freeze) Validate() error {
	for _, m := range f.Members {
		if ParentOf(m.RunID) != f.RunID || len(m.RunID) > maxRunID || !plaintext.VisibleASCII(m.RunID) || strings.Contains(m.RunID, "/") || m.Key == "" ||
			len(m.Key) > MaxMemberKey {
			return fmt.Errorf("%w: %.200q is not a member of %.200q, with a key of 1 to %d bytes", ErrInvalidRun, m.RunID, f.RunID, MaxMemberKey)
		}
	}
	return nil
}

// FreezeMembers writes a part of a list. See Freeze.
func (l *Ledger) FreezeMembers(ctx context.Context, f Freeze) (RecordResult, error) {
	if err := f.Validate(); err != nil {
		return "", err
	}
	return write(ctx, l, "freeze the members of "+f.RunID, func(tx Tx) (RecordResult, error) {
		rows, err := tx.LockRuns([]string{f.RunID}).Get()
		if err != nil || len(rows) == 0 || rows[0].State != Running || rows[0].Token != f.leasedAs() || rows[0].Fan.Frozen() {
			return Fenced, err
		}
		if f.First {
			if err := tx.DropMembers(f.RunID); err != nil {
				return "", err
			}
		}
		return Recorded, tx.PutMembers(f.RunID, f.Members)
	})
}
