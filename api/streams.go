package api

import (
	"fmt"
	"net/http"
	"sync"
)

const (
	maxStreams    = 16  // of one identity
	maxAllStreams = 256 // of this process
)

// streams counts the streams that are open: each holds a connection.
type streams struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

func (s *streams) enter(who string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[who] >= maxStreams || s.all >= maxAllStreams {
		return problem(http.StatusTooManyRequests, "too_many_streams",
			fmt.Sprintf("%d streams of this identity are open; an identity may have %d, and this process %d in all: close one", s.by[who], maxStreams, maxAllStreams))
	}
	s.all++
	s.by[who]++
	return nil
}

func (s *streams) leave(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.by[who]--; s.by[who] == 0 {
		delete(s.by, who)
	}
}
