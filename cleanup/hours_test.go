package cleanup_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/cleanup"
)

// steps are the answers of a ledger.
type steps struct {
	sync.Mutex
	left   int // hours to count
	calls  int
	failed error
	log    bytes.Buffer
}

// Write takes the log.
func (s *steps) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.log.Write(p)
}

func (s *steps) RollUp(context.Context) (bool, error) {
	time.Sleep(time.Second)
	s.Lock()
	defer s.Unlock()
	s.calls++
	if s.failed != nil {
		return false, s.failed
	}
	s.left--
	return s.left >= 0, nil
}

func TestHoursAreCountedOneAfterTheOtherAndThenRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &steps{left: 20}
		go cleanup.CountHours(ctx, s, slog.New(slog.NewTextHandler(s, nil)))
		time.Sleep(2 * time.Minute)
		s.Lock()
		if s.calls != 21 {
			t.Errorf("%d steps within two minutes, want 21", s.calls)
		}
		s.failed = errors.New("no ledger")
		s.Unlock()
		time.Sleep(time.Hour)
		s.Lock()
		if s.calls < 21+10 || s.calls > 21+14 {
			t.Errorf("%d steps in an hour with nothing to count, want about 12", s.calls-21)
		}
		if n := strings.Count(s.log.String(), "no ledger"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, s.log.String())
		}
		s.Unlock()
		cancel()
		synctest.Wait()
	})
}
