package idempotency

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/idempotency/store"
)

// Headers that the middleware reads and writes, in their canonical form.
const (
	HeaderKey        = "Idempotency-Key"         // request; see ParseKey
	HeaderSendBefore = "Cronce-Send-Before"      // request; RFC 3339; no work is started from that time on
	HeaderReplayed   = "Idempotent-Replayed"     // reply; "true", or absent
	HeaderExpires    = "Idempotency-Key-Expires" // reply; RFC 3339 in UTC; the time at which the key expires
	HeaderBody       = "Idempotency-Body"        // reply; "omitted" if the body is not replayed, or absent
)

// ExpiresLayout is the layout of [HeaderExpires]. The layout time.RFC3339 parses it, too.
const ExpiresLayout = "2006-01-02T15:04:05.000Z07:00"

// Route configures one route. The zero Route has the defaults.
type Route struct {
	// Scope is the scope of the route's keys; default: [RouteScope] of the request's
	// method and its [http.Request.Pattern]. Set it if the router sets no pattern, or if
	// two handlers have the same pattern.
	Scope string
	// TTL overrides the kit's TTL for the scope.
	TTL time.Duration
	// MaxRun overrides the kit's.
	MaxRun time.Duration
	// Lease overrides the kit's; for [Kit.Accept] only.
	Lease time.Duration
	// Poll is the Retry-After of a 202, in whole seconds; default 10s. For
	// [Kit.Accept] only.
	Poll time.Duration
	// Policy overrides the kit's; not for [Kit.Accept].
	Policy func(status int) Disposition
}

// RouteScope returns the default scope of a route, such as "route:POST_/v1/payments". If
// its pattern has a host, that precedes the path.
func RouteScope(method, path string) string { return "route:" + method + "_" + path }

// Handler wraps a handler so that it runs once for each key. The handler gets the
// transaction from its request's context and writes through it. Its reply is held back,
// even if it is flushed, until the work and the reply are committed together. The handler
// must return before its context ends (MaxRun). A client that disconnects does not end
// the context.
//
// GET, HEAD, OPTIONS and TRACE pass through. Every other request needs a key.
//
// Mount it on each route, inside the router. A request is answered 500 ([CodeMisplaced])
// if its key scope is ambiguous (see [Route]), or if its context already carries a
// transaction of the store, which would be committed after the reply. In a transaction of
// your own use [Kit.Do].
func (k *Kit) Handler(route Route, next http.Handler) http.Handler {
	if route.Policy == nil {
		route.Policy = k.opt.Policy
	}
	return &handler{kit: k, route: route, next: next}
}

type handler struct {
	kit   *Kit
	route Route
	next  http.Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		h.next.ServeHTTP(w, r)
		return
	}
	c, body, bad := h.claim(w, r)
	if bad != nil {
		h.refuse(w, r, c.Key, *bad, errors.New(bad.Detail))
		return
	}
	var out *capture // the last run's
	reply, replayed, err := h.kit.once(r.Context(), c, func(ctx context.Context) (Reply, Disposition, error) {
		out = newCapture(w, h.kit.opt.MaxReplyBody)
		inside := inner(ctx, r, body)
		h.next.ServeHTTP(out, inside)
		reply := out.reply(h.kit.replayable, h.kit.opt.MaxStoredBody)
		return reply, h.route.Policy(reply.Status), errors.Join(out.err, h.checkRouted(r, inside))
	})
	switch {
	case err != nil:
		h.refuse(w, r, c.Key, h.kit.problemOf(err), err)
	case replayed:
		sendReplay(w, r, reply)
	default:
		out.send(reply.ExpiresAt)
	}
}

// refuse answers for work that was not committed.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, k Key, p Problem, cause error) {
	if p.Status >= 500 {
		h.kit.opt.Logger.ErrorContext(r.Context(), "idempotent request failed", "code", p.Code,
			"scope", k.Scope, "principal", k.Principal, "key", k.Value, "error", cause)
	}
	if p.retryable() {
		w.Header().Set("Retry-After", "1")
	}
	h.kit.opt.WriteProblem(w, r, p)
}

// claim reads from the request what names it, and its body.
func (h *handler) claim(w http.ResponseWriter, r *http.Request) (c store.Claim, body []byte, bad *Problem) {
	refuse := func(status int, code, title, detail string) (store.Claim, []byte, *Problem) {
		p := problem(status, code, title, detail)
		return store.Claim{}, nil, &p
	}
	misplaced := func(err error) (store.Claim, []byte, *Problem) {
		p := h.kit.problemOf(err)
		return store.Claim{}, nil, &p
	}
	if h.kit.store.InTransaction(r.Context()) {
		return misplaced(inTransaction)
	}
	keys := r.Header.Values(HeaderKey)
	if len(keys) == 0 {
		return refuse(http.StatusBadRequest, CodeMissingKey, "Idempotency key required",
			"Send an Idempotency-Key header: 1 to 128 characters that name this operation, the same on every retry.")
	}
	value, err := ParseKey(keys[0])
	if len(keys) > 1 {
		err = errors.New("invalid idempotency key: more than one Idempotency-Key header")
	}
	if err != nil {
		return refuse(http.StatusBadRequest, CodeInvalidKey, "Invalid idempotency key", err.Error())
	}
	principal, err := h.kit.opt.Principal(r)
	if err != nil || principal == "" || len(principal) > MaxPrincipalLength {
		return refuse(http.StatusUnauthorized, CodeNoPrincipal, "Unidentified caller",
			"Keys belong to a caller, and this request does not prove who makes it.")
	}
	sendBefore, err := parseSendBefore(r.Header.Values(HeaderSendBefore))
	if err != nil {
		return refuse(http.StatusBadRequest, CodeInvalidRequest, "Invalid Cronce-Send-Before",
			"Cronce-Send-Before must be one RFC 3339 time, such as 2026-11-21T03:00:00Z.")
	}
	if body, err = h.read(w, r); err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return refuse(http.StatusRequestEntityTooLarge, CodeRequestTooLarge, "Request too large",
				"At most "+strconv.FormatInt(tooLarge.Limit, 10)+" bytes are accepted under an idempotency key.")
		}
		return refuse(http.StatusBadRequest, CodeInvalidRequest, "Incomplete request", "The request body could not be read to its end.")
	}
	if readBefore(r, body) {
		return refuse(http.StatusInternalServerError, CodeBodyConsumed, "Defect in the service",
			"The request's body was read before its idempotency key was looked at, so that payloads cannot be told apart."+
				" Put what reads it, or parses the form, inside the idempotency handler."+
				" A client whose body is empty must send Content-Length: 0.")
	}
	scope, err := h.scope(r)
	if err != nil {
		return misplaced(err)
	}
	c = h.kit.claim(Key{Scope: scope, Principal: principal, Value: value}, requestFingerprint(r, body), h.route.TTL)
	c.SendBefore = sendBefore
	if h.route.MaxRun > 0 {
		c.MaxRun = h.route.MaxRun
	}
	return c, body, nil
}

// maxTrustedLength bounds, in bytes, the announced length of a body for which memory is taken before
// the bytes have come.
const maxTrustedLength = 64 << 10

// read reads the body, in memory of the size that its length asks for.
func (h *handler) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limited := http.MaxBytesReader(w, r.Body, h.kit.opt.MaxRequestBody)
	if r.ContentLength <= 0 || r.ContentLength > maxTrustedLength {
		return io.ReadAll(limited)
	}
	body := make([]byte, 0, r.ContentLength+1) // and one to meet the end with
	for len(body) < cap(body) {
		n, err := limited.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
	}
	// It is longer than announced: whatever stands before the kit unpacked it.
	rest, err := io.ReadAll(limited)
	return append(body, rest...), err
}

// parseSendBefore refuses an empty header, which is not the same as a missing one, and
// a second header.
func parseSendBefore(headers []string) (time.Time, error) {
	switch len(headers) {
	case 0:
		return time.Time{}, nil
	case 1:
		return time.Parse(time.RFC3339, headers[0])
	default:
		return time.Time{}, errors.New("more than one send-before time")
	}
}

// payload is a request's body, read again.
type payload struct{ bytes.Reader }

func (*payload) Close() error { return nil }

// inner is the request as the handler sees it. Without Accept-Encoding its
// reply is one that every later client can be given; compress outside.
func inner(ctx context.Context, r *http.Request, body []byte) *http.Request {
	r = r.WithContext(ctx)
	r.Header = maps.Clone(r.Header)
	delete(r.Header, "Accept-Encoding")
	p := &payload{}
	p.Reset(body)
	r.Body = p
	r.ContentLength = int64(len(body))
	return r
}

// sendReplay gives a stored reply, byte for byte.
func sendReplay(w http.ResponseWriter, r *http.Request, reply Reply) {
	header := w.Header()
	merge(header, reply.Header)
	header.Set(HeaderReplayed, "true")
	tellExpiry(header, reply.ExpiresAt)
	encoding := reply.Header.Get("Content-Encoding")
	encoded := encoding != "" && !strings.EqualFold(encoding, "identity")
	if reply.Omitted || (encoded && !accepts(r, encoding)) {
		header.Del("Content-Encoding")
		header.Del("Content-Type")
		header.Set(HeaderBody, "omitted")
		w.WriteHeader(reply.Status)
		return
	}
	w.WriteHeader(reply.Status)
	w.Write(reply.Body)
}

// accepts reports whether the request names the encoding, or else all by *, and
// does not rule it out. Without the header all are acceptable (RFC 9110,
// section 12.5.3).
func accepts(r *http.Request, encoding string) (all bool) {
	named := r.Header.Values("Accept-Encoding")
	if len(named) == 0 {
		return true
	}
	for _, item := range strings.Split(strings.Join(named, ","), ",") {
		name, weight, _ := strings.Cut(item, ";")
		name = strings.TrimSpace(name)
		wanted := strings.Trim(strings.ReplaceAll(weight, " ", ""), "qQ=0.") != "" || weight == ""
		if strings.EqualFold(name, encoding) {
			return wanted
		}
		all = all || (name == "*" && wanted)
	}
	return all
}
