package sqlite

import (
	"context"
	"os"
	"time"
)

// queue makes the processes that use one file take turns for its write lock.
// SQLite gives a free lock to the first process that tries. That is nearly always
// the process that has just released it, since the others poll every few
// milliseconds: a process that writes without a pause would starve the others.
//
// So a process that needs the write lock first takes the queue's lock, and holds it
// until it has the write lock. A process that has just committed then waits behind
// the process that holds the queue's lock. Without contention this costs two system
// calls a transaction.
//
// The queue decides the order only. A process that cannot get the queue's lock in
// time, because a suspended process holds it, continues without it and does not try
// again for a while.
type queue struct {
	path         string
	file         *os.File  // nil: not opened yet
	ignoredUntil time.Time // until then the queue is ignored
}

const (
	// queueTimeout is the time to wait for the queue's lock: longer than its holder
	// takes to notice that the write lock is free.
	queueTimeout = 100 * time.Millisecond
	// queueBackoff is the time to ignore the queue after its lock could not be had.
	queueBackoff = time.Second
)

// enter waits up to queueTimeout for the queue's lock. The caller then calls leave.
func (q *queue) enter(ctx context.Context) {
	if time.Now().Before(q.ignoredUntil) || !q.open() {
		return
	}
	timeout := time.NewTimer(queueTimeout)
	defer timeout.Stop()
	for wait := time.Millisecond / 4; !tryLock(q.file); wait = min(2*wait, 4*time.Millisecond) {
		select {
		case <-time.After(wait):
		case <-timeout.C:
			q.ignoredUntil = time.Now().Add(queueBackoff)
			return
		case <-ctx.Done():
			return
		}
	}
}

// leave releases the queue's lock. It does nothing if enter did not get it.
func (q *queue) leave() {
	if q.file != nil {
		unlock(q.file)
	}
}

// open creates the lock file beside the ledger's, with the same permissions. If that
// fails, the queue is not used.
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
		q.ignoredUntil = time.Now().Add(time.Hour)
		return false
	}
	q.file = file
	return true
}

// close closes the lock file, which stays for other processes.
func (q *queue) close() error {
	if q.file == nil {
		return nil
	}
	return q.file.Close()
}
