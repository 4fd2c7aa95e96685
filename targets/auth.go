package targets

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// signer proves to a target who calls. It is asked once the request is
// complete but for what the signer adds, so that an implementation may sign
// any part of it, the body's bytes included (HTTP Message Signatures, SigV4).
type signer interface {
	// sign adds the proof to req. Its errors are *unsignedError.
	sign(ctx context.Context, req *http.Request, body []byte, scopes []string) error
	// renew is told that the target answered 401 to req. It reports whether
	// signing once more could make a difference.
	renew(req *http.Request, scopes []string) bool
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

func (unsigned) sign(context.Context, *http.Request, []byte, []string) error { return nil }
func (unsigned) renew(*http.Request, []string) bool                          { return false }
func (unsigned) secrets() []string                                           { return nil }

// bearer is auth type bearer: one token from the environment.
type bearer struct{ authorization string }

func (b bearer) sign(_ context.Context, req *http.Request, _ []byte, _ []string) error {
	req.Header.Set("Authorization", b.authorization)
	return nil
}

func (bearer) renew(*http.Request, []string) bool { return false }

func (b bearer) secrets() []string { return []string{strings.TrimPrefix(b.authorization, "Bearer ")} }

// asUnsigned finds the reason in err; every error of a signer has one.
func asUnsigned(err error) *unsignedError {
	var u *unsignedError
	if errors.As(err, &u) {
		return u
	}
	return &unsignedError{why: "the call could not be authorized", wait: time.Second}
}
