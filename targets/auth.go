package targets

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"time"

	"github.com/cronce/cronce/executor"
)

// signer proves to a target who calls. It is asked once the request is
// complete but for what the signer adds, so that an implementation may sign
// any part of it, the body's bytes included (HTTP Message Signatures, SigV4).
type signer interface {
	// sign adds the proof to req and returns the secrets that it used, for renew. Its
	// errors are *unsignedError.
	sign(ctx context.Context, req *http.Request, c executor.Call) (used []string, err error)
	// renew is told that the target refused a call that these secrets authorized. It
	// reports whether signing once more could make a difference.
	renew(used []string, c executor.Call) bool
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

func (unsigned) sign(context.Context, *http.Request, executor.Call) ([]string, error) {
	return nil, nil
}
func (unsigned) renew([]string, executor.Call) bool { return false }
func (unsigned) secrets() []string                  { return nil }

// bearer is auth type bearer: one token.
type bearer struct{ sources }

func (b bearer) sign(_ context.Context, req *http.Request, _ executor.Call) ([]string, error) {
	used, err := b.get()
	if err == nil {
		req.Header.Set("Authorization", "Bearer "+used[0])
	}
	return used, err
}

// basic is auth type basic (RFC 7617): the user's name and the password.
type basic struct{ sources }

func (b basic) sign(_ context.Context, req *http.Request, _ executor.Call) ([]string, error) {
	used, err := b.get()
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth(used[0], used[1])
	return used, nil
}

func (b basic) secrets() (list []string) {
	for _, password := range b.sources[1].secrets() {
		list = append(list, password)
		for _, username := range b.sources[0].secrets() {
			list = append(list, base64.StdEncoding.EncodeToString([]byte(username+":"+password)))
		}
	}
	return list
}

// headers is auth type headers: fields with secret values.
type headers struct {
	names []string
	sources
}

func (h headers) sign(_ context.Context, req *http.Request, _ executor.Call) ([]string, error) {
	used, err := h.get()
	for i := range used {
		req.Header.Set(h.names[i], used[i])
	}
	return used, err
}

// asUnsigned finds the reason in err; every error of a signer has one.
func asUnsigned(err error) *unsignedError {
	var u *unsignedError
	if errors.As(err, &u) {
		return u
	}
	return &unsignedError{why: "the call could not be authorized", wait: time.Second}
}
