package postgres

import "syscall"

const tcpUserTimeout = 18 // TCP_USER_TIMEOUT of tcp(7)

// setUserTimeout bounds how long sent data may stay unacknowledged.
func setUserTimeout(network, _ string, c syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(peerTimeout.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
