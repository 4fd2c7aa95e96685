package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// issuer verifies the ID tokens of one OpenID Connect issuer.
type issuer struct {
	keys                   *keys
	verifies               *oidc.Config
	userClaim, groupsClaim string
	checks                 *RateLimiter // by the network that a token comes from
	known                  verified
}

func newIssuer(url, audience, userClaim, groupsClaim string) *issuer {
	config := &oidc.Config{ClientID: audience}
	for _, a := range algorithms {
		config.SupportedSigningAlgs = append(config.SupportedSigningAlgs, string(a))
	}
	return &issuer{
		keys: newKeys(url), verifies: config, userClaim: userClaim, groupsClaim: groupsClaim,
		checks: NewRateLimiter(100, 200), known: verified{by: map[[sha256.Size]byte]proof{}},
	}
}

// prove returns what an ID token proves. A signature costs far more to check than
// anything else that a stranger can ask for. So a network may have a bounded number of
// unknown tokens verified; past it, only those that were verified before are accepted.
// They are verified again each minute, and do not count.
func (i *issuer) prove(r *http.Request, text string) (proof, error) {
	known, ok := i.known.get(text)
	if ok && known.fresh() {
		return known, nil
	}
	if !ok && !i.checks.Allow(Network(r.RemoteAddr)) {
		return proof{}, &DeniedError{http.StatusTooManyRequests, "too_many_requests", "too many ID tokens come from this address to be verified; ask again after Retry-After"}
	}
	p, err := i.verify(r.Context(), text)
	if denied, ok := errors.AsType[*DeniedError](err); ok && denied.Status == http.StatusUnauthorized {
		i.known.forget(text)
	}
	if err != nil {
		return proof{}, err
	}
	i.known.put(text, p)
	return p, nil
}

func (i *issuer) verify(ctx context.Context, text string) (p proof, err error) {
	set, err := i.keys.find(ctx, keyID(text))
	if err != nil {
		return p, &DeniedError{http.StatusServiceUnavailable, "issuer_unavailable", "the OIDC issuer does not give its keys, so the token cannot be verified; ask again after Retry-After"}
	}
	token, err := oidc.NewVerifier(i.keys.issuer, set, i.verifies).Verify(ctx, text)
	if err != nil {
		return p, unauthorized("the ID token is invalid, expired, or for another audience")
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return p, unauthorized("the ID token's claims cannot be read")
	}
	if v := claims["email_verified"]; i.userClaim == "email" && v != true && v != "true" {
		return p, unauthorized("the ID token does not say that its email is verified (email_verified: true); let the issuer add the claim, or set oidc.userClaim to another one")
	}
	p = proof{at: time.Now(), expires: token.Expiry}
	p.user, _ = claims[i.userClaim].(string)
	if !ValidName(p.user) {
		return p, unauthorized("the ID token has no claim " + i.userClaim + " that names a user by " + validNames)
	}
	list, _ := claims[i.groupsClaim].([]any)
	for _, g := range list {
		if name, ok := g.(string); ok {
			p.groups = append(p.groups, name)
		}
	}
	return p, nil
}
