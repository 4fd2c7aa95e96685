// Package kubernetes_test holds the manifests and the chart against Kubernetes' own
// types.
package kubernetes_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/cronce/cronce/deploy/test/bed"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { bed.Clean(); os.Exit(code) }))
}
