package targets

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// maxHeader bounds an answer's status line and header fields.
	maxHeader = 64 << 10
	// maxBody is the part of an answer's body that is kept, in bytes.
	maxBody = 64 << 10
	// maxDrain is the number of further bytes that are read so that the connection can be used
	// again; a longer body closes it.
	maxDrain = 64 << 10
	// bodyTime is how long a body may take once the headers are in. The
	// status is known by then, so a caller is not held up for the rest.
	bodyTime = 5 * time.Second
	// connectTime bounds the TCP dial, and again the TLS handshake.
	connectTime = 10 * time.Second
	// idleTime is shorter than the 5 s after which common servers (Node.js,
	// uvicorn) close an idle connection: a request written into a connection
	// that is just being closed would have an unknown outcome.
	idleTime = 4 * time.Second
	// unknownTargetWait is how long a run waits whose target this process's registry lacks.
	// A process with a newer registry may have it.
	unknownTargetWait = 30 * time.Second
)

// newTransport makes the connections to targets and token endpoints. Calls use
// it without a http.Client, which would read a hostile Location.
//
// It takes no proxy from the environment: HTTP_PROXY in a container would move
// calls and their credentials through a third machine. Answers are not
// decompressed, so that a small one cannot become a large one.
func newTransport(c Config) *http.Transport {
	return &http.Transport{
		Proxy:                  c.Proxy,
		OnProxyConnectResponse: connected,
		DialContext:            c.Dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.RootCAs},
		TLSHandshakeTimeout:    connectTime,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    c.MaxInFlight,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxHeader,
		// Without pings, calls go on into a dead HTTP/2 connection until
		// the system gives it up, a quarter of an hour later.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}
}

// Call makes one attempt. The context's deadline is the attempt's end.
//
// Unsent answers come from an open breaker, a target that this process does not
// have, a token endpoint in trouble, a run past its SendUntil, and a caller that
// stopped before anything was sent. A connection that could not be made is a Failed
// attempt: nothing was sent. Any later failure is Unknown.
func (t *Targets) Call(ctx context.Context, c executor.Call) executor.Answer {
	to, ok := t.byName[c.Call.Target]
	if !ok {
		return unsent(ledger.WaitTargetNotConfigured, "this process has no target "+quoted(c.Call.Target), unknownTargetWait)
	}
	a := to.breaker.do(ctx, func() executor.Answer { return t.attempt(ctx, to, c, nil) })
	if a.Error != "" {
		a.Error = named(to, c) + a.Error
	}
	return a
}

// attempt sends the request, and under a renewable credential once more after a
// refusal: the target did not look at the first.
func (t *Targets) attempt(ctx context.Context, to *target, c executor.Call, watch *probe) executor.Answer {
	u, err := to.address(c.Call.Path)
	if err != nil {
		return unsendable("the job's path " + err.Error())
	}
	if c.Page != "" {
		if u, err = to.pageOf(c.Page); err != nil {
			return unsendable(err.Error())
		}
	}
	if why := malformed(c); why != "" {
		return unsendable(why)
	}
	used, a := t.send(ctx, to, u, c, watch)
	if a.Status == refusalOf(to.signer) && to.signer.renew(used, c) {
		t.log.Info("unauthorized; retrying with fresh credentials", "target", to.name, "run", c.RunID, "attempt", c.Attempt)
		_, a = t.send(ctx, to, u, c, watch)
	}
	return a
}

// address returns the URL of a call. The address of a channel or a heartbeat is whole.
func (to *target) address(path string) (*url.URL, error) {
	query, whole := strings.CutPrefix(path, "?")
	if (whole || path == "") && jobs.OwnAddress(to.name) {
		u := *to.base
		u.RawQuery = joinQueries(u.RawQuery, query)
		return &u, nil
	}
	return join(to.base, path)
}

// send signs and makes one request, which a probe (nil: none) may change before
// and look at after. It returns the secrets that signed it.
func (t *Targets) send(ctx context.Context, to *target, u *url.URL, c executor.Call, watch *probe) ([]string, executor.Answer) {
	sending, end := context.WithCancel(ctx)
	defer end()
	w := newWire(func() bool { return c.PastSendUntil(t.now()) }, end)
	req, err := t.request(httptrace.WithClientTrace(sending, &w.trace), u, c)
	if err != nil {
		return nil, unsendable("the job's method is not one of HTTP")
	}
	watch.change(req.Header)
	used, err := to.signer.sign(ctx, req, c)
	if err != nil {
		return nil, unauthorized(ctx, asUnsigned(err))
	}
	if c.PastSendUntil(t.now()) {
		return used, tooLate()
	}
	calls, err := t.callsTo(to)
	if err != nil {
		return used, unsent(ledger.WaitNoToken, err.Error(), firstHoldOff)
	}
	res, err := calls.RoundTrip(req)
	if err != nil {
		return used, w.broken(ctx, err)
	}
	defer res.Body.Close()
	watch.see(t, res)
	r := reply{status: res.StatusCode, header: res.Header, async: c.Call.Within > 0}
	if each := c.Call.Each; c.List && each != nil && r.status == http.StatusOK {
		return used, readList(res, u, *each).of(classify(r, t.now()))
	}
	body := r.read(res)
	carried := signaturesOf(req.Header)
	r.code, r.progress = t.safeCode(r.code, carried), t.redact(r.progress, carried)
	a := classify(r, t.now())
	if to.keepAnswers > 0 && r.status >= 400 {
		a.Excerpt, a.KeepExcerpt = t.keepExcerpt(r.code, excerptOf(res.Header, body), carried), to.keepAnswers
	}
	return used, a
}

// request builds the request without its credentials. Its body cannot be rewound, so
// that the transport sends it once: net/http would otherwise repeat a request that
// has an Idempotency-Key, and every call must have its attempt in the ledger. The
// transport may repeat a request without a body after its connection was closed,
// under the same key, and not past SendUntil: see newWire.
func (t *Targets) request(ctx context.Context, u *url.URL, c executor.Call) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, c.Call.Method, "", nil)
	if err != nil {
		return nil, err
	}
	req.URL, req.Host = u, u.Host
	if n := len(c.Call.Body); n > 0 {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(c.Call.Body)), int64(n)
	}
	req.Header = make(http.Header, mostFields)
	t.inject(ctx, req.Header)
	setHeaders(req.Header, c, t.userAgent)
	setOwn(req.Header, c.Call.Headers)
	return req, nil
}

// read reads what an answer's body is needed for: an error's problem code, the
// progress of accepted work, and its end, so that the connection can be used again. It
// returns the beginning of an error's body, or of accepted work's.
func (r *reply) read(res *http.Response) []byte {
	if res.Body == http.NoBody {
		return nil
	}
	timer := time.AfterFunc(bodyTime, func() { _ = res.Body.Close() }) // ends a Read under way
	defer timer.Stop()
	var kept bytes.Buffer
	if r.status >= 400 || r.accepted() {
		_, err := kept.ReadFrom(io.LimitReader(res.Body, maxBody))
		r.cut, r.unread = err != nil, encoded(res.Header) || kept.Len() == maxBody && isProblem(res.Header.Get("Content-Type"))
	}
	switch media := res.Header.Get("Content-Type"); {
	case r.accepted():
		r.progress = progressOf(media, kept.Bytes())
	case r.status >= 400:
		r.code = problemCode(media, kept.Bytes())
	}
	if !r.cut {
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxDrain))
	}
	return kept.Bytes()
}

// encoded reports whether a body cannot be read as it is: some proxies compress although they
// were not asked to.
func encoded(h http.Header) bool {
	encoding := h.Get("Content-Encoding")
	return encoding != "" && !strings.EqualFold(encoding, "identity")
}

// unauthorized returns the answer when a request could not be signed.
func unauthorized(ctx context.Context, u *unsignedError) executor.Answer {
	if u.denied {
		return executor.Answer{Kind: ledger.AnswerRefused, Reason: ledger.ReasonUnauthorized, Error: "not sent: " + u.why}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return unsent(ledger.WaitNotSent, "the caller stopped", 0)
	}
	return unsent(ledger.WaitNoToken, u.why, u.wait)
}

// unsendable returns the answer to a call that no attempt could send.
func unsendable(why string) executor.Answer {
	return executor.Answer{Kind: ledger.AnswerRefused, Reason: ledger.ReasonPermanent, Error: "not sent: " + why}
}
