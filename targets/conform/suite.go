package conform

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// suite makes the calls of the cases.
type suite struct {
	urls     []string
	client   *http.Client
	callers  int
	maxWait  time.Duration
	hold     time.Duration
	service  service
	turn     atomic.Int64 // the instance that the next call goes to
	earliest made         // the first fresh call of /conform/effects
}

// made is a call that was answered.
type made struct {
	call   call
	answer answer
	at     time.Time
}

func newSuite(c Config) (*suite, error) {
	s := &suite{callers: c.Callers, maxWait: c.MaxWait, hold: c.Hold}
	// A transport of its own repeats no request whose connection is lost: none
	// of its connections is used twice.
	s.client = &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: c.Dial, Proxy: c.Proxy},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, text := range c.URLs {
		u, err := ParseURL(text)
		if err != nil {
			return nil, err
		}
		s.urls = append(s.urls, u)
	}
	if len(s.urls) == 0 {
		return nil, errors.New("no URL to test")
	}
	for _, name := range c.Only {
		if !slices.Contains(Cases(), name) {
			return nil, fmt.Errorf("unknown case %q; the cases are %s", name, strings.Join(Cases(), ", "))
		}
	}
	if s.callers <= 0 {
		s.callers = 20
	}
	if s.maxWait <= 0 {
		s.maxWait = 30 * time.Second
	}
	if s.hold <= 0 {
		s.hold = 2500 * time.Millisecond
	}
	return s, nil
}

// call is one call of an idempotent operation.
type call struct {
	variant
	keys      []string
	operation string
	status    int    // that the handler answers; 0: 201
	body      string // in the place of the usual one
	fault     string
	header    http.Header
}

// variant holds what can distinguish two calls of one case.
type variant struct {
	method         string // default POST
	path           string // default /conform/effects
	query          string
	mediaType      string // default application/json
	principal      string // default alice; "-": none
	suffix         string // of the key
	longest        bool   // the key is as long as a key may be
	otherOperation bool
}

// newCall returns a call with a new key and a new operation.
func newCall() call {
	return call{keys: []string{"conform-" + rand.Text()}, operation: rand.Text()}
}

// as returns the call as a variant of itself.
func (c call) as(v variant) call {
	c.variant = v
	key := c.keys[0]
	if v.longest {
		key += strings.Repeat("k", maxKeyLength-len(key)-len(v.suffix))
	}
	c.keys = []string{key + v.suffix}
	if v.otherOperation {
		c.operation = rand.Text()
	}
	return c
}

// payload returns the body. The usual one is in the canonical form of RFC 8785, so that a
// service that hashes the canonical form hashes the same bytes under every media type.
func (c call) payload() string {
	if c.body != "" {
		return c.body
	}
	if c.status == 0 {
		c.status = http.StatusCreated
	}
	return fmt.Sprintf(`{"answer":%d,"operation":%q}`, c.status, c.operation)
}

// answer is the answer of a service to one call.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) String() string {
	text := fmt.Sprintf("status %d", a.status)
	if code := a.code(); code != "" {
		return text + " " + code
	}
	if a.replayed() {
		text += ", replayed"
	}
	return text
}

func (a answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

// code returns the code of a problem (RFC 9457).
func (a answer) code() string {
	var p struct{ Code string }
	if !strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json") || json.Unmarshal(a.body, &p) != nil {
		return ""
	}
	return p.Code
}

// later reports whether the caller is asked to come back.
func (a answer) later() bool {
	return a.code() == codeInProgress || a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests
}

// do makes one call of the next instance.
func (s *suite) do(ctx context.Context, c call) (answer, error) {
	return s.doAt(ctx, s.next(), c)
}

func (s *suite) next() int { return int(s.turn.Add(1)) % len(s.urls) }

// doAt makes a call of one instance, without repeating it.
func (s *suite) doAt(ctx context.Context, instance int, c call) (answer, error) {
	r, err := s.request(ctx, instance, c, strings.NewReader(c.payload()))
	if err != nil {
		return answer{}, err
	}
	return s.send(r)
}

func (s *suite) request(ctx context.Context, instance int, c call, body io.Reader) (*http.Request, error) {
	url := s.urls[instance] + cmp.Or(c.path, "/conform/effects")
	if c.query != "" {
		url += "?" + c.query
	}
	r, err := http.NewRequestWithContext(ctx, cmp.Or(c.method, http.MethodPost), url, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", cmp.Or(c.mediaType, "application/json"))
	for name, values := range c.header {
		r.Header[name] = values
	}
	r.Header["Idempotency-Key"] = c.keys
	if c.principal != "-" {
		r.Header.Set("Authorization", "Bearer "+cmp.Or(c.principal, "alice"))
	}
	if c.fault != "" {
		r.Header.Set("Conform-Fault", c.fault)
	}
	return r, nil
}

func (s *suite) send(r *http.Request) (answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), s.maxWait+holds*s.hold)
	defer cancel()
	response, err := s.client.Do(r.WithContext(ctx))
	if err != nil {
		return answer{}, fmt.Errorf("no answer: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return answer{}, fmt.Errorf("no whole answer: %w", err)
	}
	return answer{response.StatusCode, response.Header, body}, nil
}

func (s *suite) get(ctx context.Context, instance int, path string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.urls[instance]+path, http.NoBody)
	if err != nil {
		return answer{}, err
	}
	return s.send(r)
}

// counted returns the number of an operation's effects.
func (s *suite) counted(ctx context.Context, operation string) (int, error) {
	a, err := s.get(ctx, s.next(), "/conform/effects?operation="+url.QueryEscape(operation))
	if err != nil {
		return 0, err
	}
	var counted struct{ Count *int }
	if a.status != http.StatusOK || json.Unmarshal(a.body, &counted) != nil || counted.Count == nil {
		return 0, fmt.Errorf("GET /conform/effects: %s; want 200 and {\"count\": 0}", a)
	}
	return *counted.Count, nil
}

// settle repeats a call until it is neither lost nor asked to come back.
func (s *suite) settle(ctx context.Context, c call) (a answer, err error) {
	err = s.eventually(ctx, func() error {
		var err error
		if a, err = s.do(ctx, c); err == nil && a.later() {
			err = fmt.Errorf("still %s", a)
		}
		return err
	})
	return a, err
}

// eventually tries until fn succeeds, its error is permanent, or maxWait is over.
func (s *suite) eventually(ctx context.Context, fn func() error) error {
	end := time.Now().Add(s.maxWait)
	pause := 10 * time.Millisecond
	for {
		err := fn()
		if err == nil || permanent(err) || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, 250*time.Millisecond)
	}
}

// permanent reports whether another try has the same end: Config.Dial or Config.Proxy
// says so of a connection, or the service's certificate is refused.
func permanent(err error) bool {
	var told interface{ Permanent() bool }
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &told) && told.Permanent() || errors.As(err, &certificate)
}
