package idempotencytest

import (
	"errors"
	"net"
	"sync/atomic"
)

// Fault interrupts a service at one point of its exchange with the database: before
// it sends the n-th message or statement, or after it has sent it and before it
// reads the answer. The nil Fault never interrupts.
type Fault struct {
	at     int64
	after  bool
	strike func() (goOn bool)
	said   atomic.Int64
	reads  atomic.Bool // strikes when something comes, once
}

var errBroken = errors.New("the connection broke")

// Exec runs it, which sends one message or statement to the database, unless the
// fault prevents that.
func (f *Fault) Exec(it func() error) error {
	if f == nil || f.said.Add(1) != f.at {
		return it()
	}
	if f.after {
		err := it()
		if !f.strike() {
			return errBroken
		}
		return err
	}
	if !f.strike() {
		return errBroken
	}
	return it()
}

// Conn returns a connection to a database server on which each message is counted.
func (f *Fault) Conn(c net.Conn) net.Conn {
	if f == nil {
		return c
	}
	return &faultyConn{c, f}
}

type faultyConn struct {
	net.Conn
	fault *Fault
}

func (c *faultyConn) Write(p []byte) (n int, err error) {
	err = c.fault.Exec(func() error {
		n, err = c.Conn.Write(p)
		return err
	})
	if errors.Is(err, errBroken) {
		_ = c.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// Read strikes before it reads. Nothing is taken from the server meanwhile.
func (c *faultyConn) Read(p []byte) (n int, err error) {
	if c.fault.reads.CompareAndSwap(true, false) {
		c.fault.strike()
	}
	return c.Conn.Read(p)
}

// next has the fault strike after the next thing that is said.
func (f *Fault) next() { f.at, f.after = f.said.Load()+1, true }

// struck reports whether the service came as far as the fault.
func (f *Fault) struck() bool { return f.said.Load() >= f.at }
