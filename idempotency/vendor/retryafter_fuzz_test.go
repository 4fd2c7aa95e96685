package vendor_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency/vendor"
)

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "5", "-1", "1.5", "99999999999999999999", "Sat, 21 Nov 2026 03:01:30 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(seed)
	}
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, header string) {
		if d := vendor.RetryAfter(header, now); d < 0 {
			t.Fatalf("%q gives %v", header, d)
		}
	})
}
