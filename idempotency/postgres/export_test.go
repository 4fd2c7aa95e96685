package postgres

import "time"

// Clock is the database's, carried on by this process's.
func Clock(theirs, ours time.Time) interface{ Read() time.Time } { return clock{theirs, ours} }

func (c clock) Read() time.Time { return c.read() }
