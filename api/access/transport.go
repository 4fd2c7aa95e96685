package access

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	askIssuerAgain = time.Second
	maxIssuer      = 1 << 20 // of an issuer's answer
)

// cachedTransport sends a GET of an address at most once a second, and otherwise returns
// the last answer. Each token whose key is unknown makes go-oidc read the issuer's keys
// again, and anybody can send such tokens.
type cachedTransport struct {
	next http.RoundTripper

	mu   sync.Mutex
	url  string
	at   time.Time
	last http.Response
	body []byte
	err  error
}

func (s *cachedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if url := r.URL.String(); s.url != url || time.Since(s.at) >= askIssuerAgain {
		s.body, s.err = s.ask(r)
		s.url, s.at = url, time.Now()
	}
	if s.err != nil {
		return nil, s.err
	}
	res := s.last
	res.Request, res.Header, res.Body = r, s.last.Header.Clone(), io.NopCloser(bytes.NewReader(s.body))
	return &res, nil
}

func (s *cachedTransport) ask(r *http.Request) ([]byte, error) {
	res, err := s.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	s.last = *res
	body, err := io.ReadAll(io.LimitReader(res.Body, maxIssuer+1))
	if err == nil && len(body) > maxIssuer {
		err = errors.New("the issuer's answer is larger than 1 MiB")
	}
	return body, err
}
