package kitbench

import (
	"syscall"
	"testing"
)

// Spent reads the CPU time of this process, which unlike the rate does not depend
// on what else the machine does: the service's, and of the clients beside it.
func Spent(b *testing.B) map[string]float64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return map[string]float64{"go-µs": float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1000}
}
