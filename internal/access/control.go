package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync/atomic"
)

// File is the access control of an access file. It is safe for concurrent use.
type File struct {
	path  string
	rules atomic.Pointer[rules]
}

var _ Control = (*File)(nil)

// Open reads the access file at path.
func Open(path string) (*File, error) {
	f := &File{path: path}
	return f, f.Reload()
}

// Reload reads the file again. If the file has a mistake, Reload returns an error and
// changes nothing.
func (f *File) Reload() error {
	r, err := read(f.path)
	if err != nil {
		return err
	}
	f.rules.Store(r)
	return nil
}

// Warning returns what makes the rules weak without being an error, or "".
func (f *File) Warning() string {
	if p := f.rules.Load().proxy; p != nil {
		return p.warning()
	}
	return ""
}

// TakesTokens reports whether the file has tokens, by which a browser can ask its user.
func (f *File) TakesTokens() bool { return len(f.rules.Load().tokens) > 0 }

// Identify implements Control. If a request has a token, only the token counts: a
// request with an invalid token is refused, even if it comes from a trusted proxy.
func (f *File) Identify(r *http.Request) (Identity, error) {
	rules := f.rules.Load()
	text, err := presented(r)
	switch {
	case err != nil:
		return Identity{}, err
	case text != "":
		return rules.byBearer(r, text)
	case rules.proxy != nil && rules.proxy.trusts(r.RemoteAddr):
		return rules.byProxy(r)
	}
	return Identity{}, unauthorized("the request proves no identity; send Authorization: Bearer and a token")
}

func (r *rules) byBearer(req *http.Request, text string) (Identity, error) {
	if who, ok := r.byToken(text); ok {
		return who, nil
	}
	if r.oidc != nil && strings.Count(text, ".") == 2 {
		p, err := r.oidc.prove(req.Context(), text)
		if err != nil {
			return Identity{}, err
		}
		return r.granted(p.user, p.groups)
	}
	return Identity{}, unauthorized("the token is not known, or was revoked")
}

// granted is a user with their role. One that is named like a token would be taken
// for it in the audit, and share its idempotency keys and its rate.
func (r *rules) granted(user string, groups []string) (Identity, error) {
	if len(user) >= len(tokenPrefix) && strings.EqualFold(user[:len(tokenPrefix)], tokenPrefix) {
		return Identity{}, unauthorized("a user's name must not begin with " + tokenPrefix + ", as those of tokens do")
	}
	role, templates := r.grantedTo(user, groups)
	if role == None {
		return Identity{}, &DeniedError{http.StatusForbidden, "forbidden", "the access file grants " + user + " no role"}
	}
	return Identity{Name: user, Role: role, Templates: templates}, nil
}

// NewToken returns a random token of 256 bits, and the hash by which an access
// file names it.
func NewToken() (token, hash string) {
	token = "cronce_" + rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(token))
	return token, "sha256:" + hex.EncodeToString(sum[:])
}
