package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// issuer verifies the ID tokens of one OpenID Connect issuer. Its keys are looked
// up when the first token comes, so that an issuer that is down does not keep a
// process from starting.
type issuer struct {
	url, audience          string
	userClaim, groupsClaim string
	client                 *http.Client
	checks                 *RateLimiter // by the network that a token comes from
	known                  verified
	mu                     sync.Mutex
	verifier               *oidc.IDTokenVerifier
	lastFailed             time.Time
}

func newIssuer(url, audience, userClaim, groupsClaim string) *issuer {
	return &issuer{
		url: url, audience: audience, userClaim: userClaim, groupsClaim: groupsClaim,
		client: &http.Client{Timeout: 5 * time.Second, Transport: &cachedTransport{next: http.DefaultTransport}},
		checks: NewRateLimiter(), known: verified{by: map[[sha256.Size]byte]proof{}},
	}
}

// retryDiscovery is how long an issuer that failed is left alone.
const retryDiscovery = 5 * time.Second

func (i *issuer) discovered() (*oidc.IDTokenVerifier, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.verifier != nil {
		return i.verifier, nil
	}
	if time.Since(i.lastFailed) < retryDiscovery {
		return nil, errors.New("the issuer failed a moment ago")
	}
	// The provider keeps the context for later key look-ups: it must not end.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.Background(), i.client), i.url)
	if err != nil {
		i.lastFailed = time.Now()
		return nil, err
	}
	i.verifier = provider.Verifier(&oidc.Config{ClientID: i.audience})
	return i.verifier, nil
}

// prove returns what an ID token proves. A signature costs far more to check than
// anything else that a stranger can ask for. So a network may have a bounded number of
// tokens verified; past it, those that were verified before are still accepted, and no
// other.
func (i *issuer) prove(r *http.Request, text string) (proof, error) {
	known, ok := i.known.get(text)
	if ok && known.fresh() {
		return known, nil
	}
	if !i.checks.Allow(network(r.RemoteAddr)) {
		if ok {
			return known, nil
		}
		return proof{}, &DeniedError{http.StatusTooManyRequests, "too_many_requests", "too many ID tokens come from this address to be verified; ask again after Retry-After"}
	}
	p, err := i.verify(r.Context(), text)
	if err != nil {
		i.known.forget(text)
		return proof{}, err
	}
	i.known.put(text, p)
	return p, nil
}

func (i *issuer) verify(ctx context.Context, text string) (p proof, err error) {
	verifier, err := i.discovered()
	if err != nil {
		return p, &DeniedError{http.StatusServiceUnavailable, "issuer_unavailable", "the OIDC issuer cannot be reached, so the token cannot be verified"}
	}
	token, err := verifier.Verify(ctx, text)
	if err != nil {
		return p, unauthorized("the ID token is invalid, expired, or for another audience")
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return p, unauthorized("the ID token's claims cannot be read")
	}
	if verified, told := claims["email_verified"].(bool); i.userClaim == "email" && told && !verified {
		return p, unauthorized("the ID token's email is not verified")
	}
	p = proof{at: time.Now(), expires: token.Expiry}
	p.user, _ = claims[i.userClaim].(string)
	if !validName(p.user) {
		return p, unauthorized("the ID token has no claim " + i.userClaim + " that names a user")
	}
	list, _ := claims[i.groupsClaim].([]any)
	for _, g := range list {
		if name, ok := g.(string); ok {
			p.groups = append(p.groups, name)
		}
	}
	return p, nil
}
