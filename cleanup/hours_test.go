package cleanup_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/cleanup"
)

// steps are the answers of a ledger.
type steps struct {
	left   int // hours to count
	calls  int
	failed error
}

func (s *steps) RollUp(context.Context) (bool, error) {
	s.calls++
	time.Sleep(time.Second)
	if s.failed != nil {
		return false, s.failed
	}
	s.left--
	return s.left >= 0, nil
}

func TestHoursAreCountedOneAfterTheOtherAndThenRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &steps{left: 20}
		go cleanup.CountHours(ctx, s, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(2 * time.Minute)
		if s.calls != 21 {
			t.Errorf("%d steps within two minutes, want 21", s.calls)
		}
		s.failed = errors.New("no ledger")
		time.Sleep(time.Hour)
		if s.calls < 21+10 || s.calls > 21+14 {
			t.Errorf("%d steps in an hour with nothing to count, want about 12", s.calls-21)
		}
		if n := strings.Count(log.String(), "no ledger"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
		cancel()
		synctest.Wait()
	})
}
