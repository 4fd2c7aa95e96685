// Package deploy_test holds what is in deploy/ against the programs that will read
// it.
package deploy_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/deploy/test/bed"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { bed.Clean(); os.Exit(code) }))
}
