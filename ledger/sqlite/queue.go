package sqlite

import (
	"context"
	"os"
	"time"
)

// queue is where the processes on one file wait for its write lock. SQLite gives
// the lock to whoever asks first after it is free, which is always the process
// that has just given it up, while the others look again every few milliseconds:
// one that writes without a pause would keep it for itself.
//
// So a process that wants the write lock first takes the queue's lock, and holds
// it until it has the write lock. The one that has just committed then finds
// another in the queue, and stands behind it. While nobody waits that costs two
// system calls a transaction.
//
// The queue decides only who comes first. A process that cannot have its lock
// in time, because it is held by one that is suspended, goes on without, and
// does not ask for a while.
type queue struct {
	path    string
	file    *os.File  // nil: not opened yet
	without time.Time // until then the queue is not asked
}

const (
	// inQueue is longer than the process at the queue's head takes to see that
	// the write lock is free.
	inQueue = 100 * time.Millisecond
	// pastQueue is how long a queue that did not move is not asked.
	pastQueue = time.Second
)

// enter waits for the head of the queue, but not for long. leave follows.
func (q *queue) enter(ctx context.Context) {
	if time.Now().Before(q.without) || !q.open() {
		return
	}
	patience := time.NewTimer(inQueue)
	defer patience.Stop()
	for wait := time.Millisecond / 4; !tryLock(q.file); wait = min(2*wait, 4*time.Millisecond) {
		select {
		case <-time.After(wait):
		case <-patience.C:
			q.without = time.Now().Add(pastQueue)
			return
		case <-ctx.Done():
			return
		}
	}
}

// leave lets the next in. Who did not come in does no harm by it.
func (q *queue) leave() {
	if q.file != nil {
		unlock(q.file)
	}
}

// open creates the file beside the ledger's, with its permissions, that the lock
// is on. Where it cannot be had, the queue is not kept.
func (q *queue) open() bool {
	if q.file != nil {
		return true
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(q.path); err == nil {
		mode = info.Mode().Perm()
	}
	file, err := os.OpenFile(q.path+"-queue", os.O_RDONLY|os.O_CREATE, mode)
	if err != nil {
		q.without = time.Now().Add(time.Hour)
		return false
	}
	q.file = file
	return true
}

func (q *queue) close() error {
	if q.file == nil {
		return nil
	}
	return q.file.Close()
}
