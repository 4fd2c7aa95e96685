package simulate_test

import (
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// Every goroutine has ended when the tests have.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // a simulation keeps little; the collector took a fifth of its time
	goleak.VerifyTestMain(m)
}
