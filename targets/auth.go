package targets

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/cronce/cronce/executor"
)

// signer proves to a target who calls. It is asked once the request is
// complete but for what the signer adds, so that an implementation may sign
// any part of it, the body's bytes included (HTTP Message Signatures, SigV4).
type signer interface {
	// sign adds the proof to req. Its errors are *unsignedError.
	sign(ctx context.Context, req *http.Request, c executor.Call) error
	// renew is told that the target answered 401 to req. It reports whether
	// signing once more could make a difference.
	renew(req *http.Request, c executor.Call) bool
	// secrets are the credentials that nothing kept or shown may repeat.
	secrets() []string
}

// unsignedError says why a request could not be signed; nothing was sent.
type unsignedError struct {
	why string // never a secret, never what an endpoint answered
	// denied: the credentials themselves are refused; waiting does not help.
	denied bool
	wait   time.Duration // otherwise: when to try again
}

func (e *unsignedError) Error() string { return e.why }

// unsigned is auth type none.
type unsigned struct{}

func (unsigned) sign(context.Context, *http.Request, executor.Call) error { return nil }
func (unsigned) renew(*http.Request, executor.Call) bool                  { return false }
func (unsigned) secrets() []string                                        { return nil }

// bearer is auth type bearer: one token.
type bearer struct{ token *source }

func (b bearer) sign(_ context.Context, req *http.Request, _ executor.Call) error {
	token, err := b.token.get()
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return nil
}

func (b bearer) renew(req *http.Request, _ executor.Call) bool {
	return b.token.renew(strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
}

func (b bearer) secrets() []string { return b.token.secrets() }

// basic is auth type basic (RFC 7617).
type basic struct{ username, password *source }

func (b basic) sign(_ context.Context, req *http.Request, _ executor.Call) error {
	username, err := b.username.get()
	if err != nil {
		return err
	}
	if strings.Contains(username, ":") {
		return &unsignedError{why: b.username.name + " holds a user name with a colon, which basic authentication cannot send", denied: true}
	}
	password, err := b.password.get()
	if err != nil {
		return err
	}
	req.SetBasicAuth(username, password)
	return nil
}

func (b basic) renew(req *http.Request, _ executor.Call) bool {
	username, password, _ := req.BasicAuth()
	changed := b.username.renew(username)
	return b.password.renew(password) || changed
}

func (b basic) secrets() (list []string) {
	for _, password := range b.password.secrets() {
		list = append(list, password)
		for _, username := range b.username.secrets() {
			list = append(list, base64.StdEncoding.EncodeToString([]byte(username+":"+password)))
		}
	}
	return list
}

// headers is auth type headers: fields, by name, with secret values.
type headers map[string]*source

func (h headers) sign(_ context.Context, req *http.Request, _ executor.Call) error {
	for name, s := range h {
		value, err := s.get()
		if err != nil {
			return err
		}
		req.Header.Set(name, value)
	}
	return nil
}

func (h headers) renew(req *http.Request, _ executor.Call) (changed bool) {
	for name, s := range h {
		changed = s.renew(req.Header.Get(name)) || changed
	}
	return changed
}

func (h headers) secrets() (list []string) {
	for _, s := range h {
		list = append(list, s.secrets()...)
	}
	return list
}

// asUnsigned finds the reason in err; every error of a signer has one.
func asUnsigned(err error) *unsignedError {
	var u *unsignedError
	if errors.As(err, &u) {
		return u
	}
	return &unsignedError{why: "the call could not be authorized", wait: time.Second}
}
