package targets

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/clocks"
)

const (
	// fetchTime bounds one request for a token.
	fetchTime = 10 * time.Second
	// refreshEarly, or a tenth of a token's life if that is less, is how long
	// before its expiry a token is replaced, so that none expires on its way.
	refreshEarly = 30 * time.Second
	// unsaidLife is assumed of a token whose answer has no expires_in (RFC
	// 6749, section 5.1, leaves it optional). A 401 corrects it.
	unsaidLife = 5 * time.Minute
	// firstHoldOff and maxHoldOff bound the growing pause after a token
	// endpoint failed, before the next request.
	firstHoldOff = time.Second
	maxHoldOff   = time.Minute
)

// clientCredentials is auth type oauth2 (RFC 6749, section 4.4).
type clientCredentials struct {
	tokens   *tokens
	tokenURL *url.URL
	id       *source
	secret   *source

	mu     sync.Mutex
	grants map[string]*grant // by scopes
}

func (c *clientCredentials) sign(ctx context.Context, req *http.Request, call executor.Call) ([]string, error) {
	token, err := c.grant(call.Call.Scopes).get(ctx)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return []string{token}, nil
}

// renew drops the token that the call carried, unless another call has replaced it
// by now.
func (c *clientCredentials) renew(used []string, call executor.Call) bool {
	c.grant(call.Call.Scopes).drop(used[0])
	return true
}

// secrets returns the client's, as the token endpoint gets it, and the tokens.
func (c *clientCredentials) secrets() []string {
	var list []string
	for _, secret := range c.secret.secrets() {
		list = append(list, secret)
		for _, id := range c.id.secrets() {
			list = append(list, url.QueryEscape(id)+":"+url.QueryEscape(secret))
		}
	}
	list = append(list, secretsOf(c.tokenURL)...)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.grants {
		list = append(list, g.secrets()...)
	}
	return list
}

// grant finds what is kept for a set of scopes; their order does not matter.
func (c *clientCredentials) grant(scopes []string) *grant {
	sorted := slices.Compact(slices.Sorted(slices.Values(scopes)))
	key := strings.Join(sorted, " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.grants[key]
	if g == nil {
		g = &grant{client: c, tokens: c.tokens, scopes: sorted}
		if c.grants == nil {
			c.grants = map[string]*grant{}
		}
		c.grants[key] = g
	}
	return g
}

// grant keeps one token and asks for the next. However many calls need it, one
// request is under way at a time.
type grant struct {
	client *clientCredentials
	tokens *tokens
	scopes []string

	mu       sync.Mutex
	token    string
	former   string    // the token before; calls that carried it may still be under way
	fresh    time.Time // until then the token is used unconditionally
	expires  time.Time // until then it is used if no other can be got
	holdOff  time.Duration
	notUntil time.Time // the endpoint failed: no request before then
	failure  *unsignedError
	pending  *pending
}

// pending is a request for a token under way.
type pending struct {
	done  chan struct{} // closed when token and err are set
	token string
	err   *unsignedError
}

// get returns a token, waiting for one no longer than ctx.
func (g *grant) get(ctx context.Context) (string, error) {
	p, token, err := g.now()
	if p == nil {
		if err != nil {
			return "", err
		}
		return token, nil
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return "", &unsignedError{why: "no token within the attempt's time", wait: firstHoldOff}
	}
	if p.err != nil {
		return "", p.err
	}
	return p.token, nil
}

// now returns the kept token, or why there is none, or the request to wait for.
func (g *grant) now() (*pending, string, *unsignedError) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.tokens.now()
	if g.token != "" && !clocks.HasPassed(now, g.fresh) {
		return nil, g.token, nil
	}
	if g.pending != nil {
		return g.pending, "", nil
	}
	if now.Before(g.notUntil) {
		if g.token != "" && !clocks.HasPassed(now, g.expires) {
			return nil, g.token, nil
		}
		return nil, "", &unsignedError{why: g.failure.why, wait: g.notUntil.Sub(now)}
	}
	p := &pending{done: make(chan struct{})}
	if !g.tokens.start(func(ctx context.Context) { g.fetch(ctx, p) }) {
		return nil, "", &unsignedError{why: "the caller stopped", wait: firstHoldOff}
	}
	g.pending = p
	return p, "", nil
}

// fetch asks for a token and settles p. It belongs to no call, so that a call
// that ends early does not take the token from those that wait with it.
func (g *grant) fetch(ctx context.Context, p *pending) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	asked := g.tokens.now()
	token, life, failure := g.client.ask(ctx, g.scopes)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending = nil
	defer close(p.done)
	switch {
	case failure == nil:
		g.replace(token)
		g.holdOff = 0
		g.expires = asked.Add(life)
		g.fresh = g.expires.Add(-min(refreshEarly, life/10))
		p.token = g.token
	case failure.denied:
		p.err = failure
	default:
		g.wait(failure)
		if g.token != "" && !clocks.HasPassed(g.tokens.now(), g.expires) {
			p.token = g.token
			return
		}
		p.err = failure
	}
}

// ask makes one request for a token. A client that is turned away is asked again
// later where a file may hold other credentials by then.
func (c *clientCredentials) ask(ctx context.Context, scopes []string) (token string, life time.Duration, failure *unsignedError) {
	id, err := c.id.get()
	if err != nil {
		return "", 0, asUnsigned(err)
	}
	secret, err := c.secret.get()
	if err != nil {
		return "", 0, asUnsigned(err)
	}
	config := clientcredentials.Config{ClientID: id, ClientSecret: secret, TokenURL: c.tokenURL.String(), Scopes: scopes}
	asked := c.tokens.now()
	t, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, c.tokens.client))
	if life, failure = tokenLifetime(t, err, asked); failure == nil {
		return t.AccessToken, life, nil
	}
	if failure.denied {
		other := c.id.renew(id)
		failure.denied = !c.secret.renew(secret) && !other
	}
	return "", 0, failure
}

// wait delays the next request to the endpoint, twice as long each time.
func (g *grant) wait(failure *unsignedError) {
	g.holdOff = min(max(2*g.holdOff, firstHoldOff), maxHoldOff)
	failure.wait = g.holdOff
	g.failure, g.notUntil = failure, g.tokens.now().Add(g.holdOff)
}

// drop forgets a token that a target refused.
func (g *grant) drop(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token == token {
		g.replace("")
	}
}

// replace keeps the former token as a secret that a target may still repeat.
func (g *grant) replace(token string) {
	if g.token != "" {
		g.former = g.token
	}
	g.token = token
}

func (g *grant) secrets() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return []string{g.token, g.former}
}

// tokens owns the requests for tokens.
type tokens struct {
	client *http.Client
	now    func() time.Time
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func newTokens(transport http.RoundTripper, now func() time.Time) *tokens {
	ctx, cancel := context.WithCancel(context.Background())
	return &tokens{now: now, ctx: ctx, cancel: cancel, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// start runs a request in a goroutine that close waits for; false after close.
func (t *tokens) start(request func(context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.wg.Go(func() { request(t.ctx) })
	return true
}

func (t *tokens) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.wg.Wait()
}
