// Package remote is a client of package api, with the types of the operations that it
// serves. The command line uses it with --server. It repeats requests while the ledger
// is busy and when an answer was lost; a mutation is repeated under its idempotency
// key.
package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
)

// Client sends requests to one API server. It is safe for concurrent use.
type Client struct {
	base     *url.URL
	token    string
	agent    string
	client   *http.Client
	retryFor time.Duration // for how long a request is repeated
}

// Config names the server and the token. URL is required.
type Config struct {
	URL string // https, or http to this machine
	// Token is presented as a bearer token; empty: none. If it proves an identity, an
	// action names that identity or nobody; otherwise each action names who acts.
	Token   string
	Version string // for User-Agent
}

// retryFor is the time in which a request without an answer is repeated.
const retryFor = 30 * time.Second

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// New checks the address; it connects to nothing. No error shows the token.
func New(c Config) (*Client, error) {
	u, err := url.Parse(strings.TrimSuffix(c.URL, "/"))
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https", !hosts.Valid(u.Hostname()), !hosts.ValidPort(u.Port()):
		return nil, errors.New("the server must be a URL such as https://cronce.example.com")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the server's URL must hold no user, password or query; give a token with CRONCE_TOKEN")
	case u.Scheme == "http" && !hosts.Loopback(u.Hostname()):
		return nil, errors.New("the server's URL is plain http to another machine, where anybody on the way could read the token; use https")
	case strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("CRONCE_TOKEN is not a token: it has spaces or characters that are not ASCII")
	}
	client := &http.Client{
		Timeout: 90 * time.Second,
		// A redirect could take the token elsewhere, and a POST would become a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Client{base: u, token: c.Token, agent: "cronce/" + c.Version, client: client, retryFor: retryFor}, nil
}

// get returns the answer to a query.
func get[T any](ctx context.Context, s *Client, path string, query url.Values) (answer T, err error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	err = s.ask(ctx, http.MethodGet, path, nil, &answer)
	return answer, err
}

// post makes a mutation, under one key however often it is sent.
func (s *Client) post(ctx context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.ask(ctx, http.MethodPost, path, text, into)
}

// ask sends a request, with further header fields in pairs, until it is answered or retryFor is
// over.
func (s *Client) ask(ctx context.Context, method, path string, body []byte, into any, fields ...string) error {
	key, began := uuid.NewString(), time.Now()
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		again, err := s.once(ctx, method, path, key, body, into, fields...)
		if err == nil || again < 0 || ctx.Err() != nil || time.Since(began)+wait > s.retryFor {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(wait, again)):
		}
	}
}

// final is once's answer for what is not asked again.
const final = -1

// once sends a request. again is how long to wait before it is repeated, final for
// never.
func (s *Client) once(
	ctx context.Context, method, path, key string, body []byte, into any, fields ...string,
) (again time.Duration, err error) {
	r, err := s.request(ctx, method, path, body)
	if err != nil {
		return final, err
	}
	r.Header.Set("Accept", "application/json, application/problem+json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPost {
		r.Header.Set("Idempotency-Key", key)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	res, err := s.client.Do(r)
	if err != nil {
		return s.noAnswer(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return 0, fmt.Errorf("the answer of %s was cut short: %w", s.base, err)
	}
	if res.StatusCode >= 300 {
		return s.refused(res, text)
	}
	read := func() error { return json.Unmarshal(text, into) }
	if many, is := into.(*manyAnswers); is {
		read = func() error { return many.read(text) }
	}
	if err := read(); err != nil {
		return final, s.foreign(err)
	}
	return final, nil
}

// foreign is the error of an answer that cannot be read.
func (s *Client) foreign(err error) error {
	return fmt.Errorf("the answer of %s is not one of cronce's API; check --server: %w", s.base, err)
}

// request is one in the client's name.
func (s *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.base.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", s.agent)
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	return r, nil
}

// noAnswer returns the error of a request without an answer. A server that does not
// speak TLS or has no trusted certificate is not asked again.
func (s *Client) noAnswer(err error) (again time.Duration, _ error) {
	var notTLS tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &notTLS):
		return final, fmt.Errorf("the server %s does not speak TLS; use the address of the proxy that has its certificate, or "+
			"http:// on the server's own machine: %w", s.base, errors.Unwrap(err))
	case errors.As(err, &untrusted):
		return final, fmt.Errorf("the certificate of %s is not trusted; use the host name that it is for, or add the certificate of "+
			"its CA to those that this machine trusts: %w", s.base, errors.Unwrap(err))
	}
	return 0, fmt.Errorf("the server %s does not answer; check that it runs, and --server: %w", s.base, errors.Unwrap(err))
}

// refused returns the error that an answer other than 2xx stands for.
func (s *Client) refused(res *http.Response, text []byte) (again time.Duration, err error) {
	var p struct { // RFC 9457
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	if json.Unmarshal(text, &p) != nil || p.Code == "" {
		err := fmt.Errorf("%s answered HTTP %d without a problem of cronce's API; check --server", s.base, res.StatusCode)
		if res.StatusCode == http.StatusBadGateway || res.StatusCode == http.StatusServiceUnavailable ||
			res.StatusCode == http.StatusGatewayTimeout {
			return 0, err
		}
		return final, err
	}
	err = &operations.Error{Code: operations.Code(p.Code), Message: plaintext.Line(p.Detail)}
	if seconds, bad := strconv.Atoi(res.Header.Get("Retry-After")); bad == nil {
		return time.Duration(seconds) * time.Second, err
	}
	return final, err
}
