package testdb

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Servers listen between these ports, below those that systems give to outgoing
// connections and to listeners on port 0 (Linux from 32768 on, others from
// 49152): a server that was stopped or crashed finds its port free when it
// starts again, however many connections were made in the meantime.
const portFrom, portTo = 15_000, 32_000

// FreePort returns a TCP port of the loopback address that was free a moment ago and
// that the system does not assign by itself.
func FreePort() (port int, err error) {
	for range 100 {
		port = portFrom + rand.IntN(portTo-portFrom)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port from %d to %d: %w", portFrom, portTo, err)
}
