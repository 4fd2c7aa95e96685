package vendorhttp_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Every goroutine has ended when the tests have.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
