package access

import (
	"context"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"
)

// issuer verifies the ID tokens of one OpenID Connect issuer.
type issuer struct {
	keys                   *keys
	verifies               *oidc.Config
	userClaim, groupsClaim string
}

func newIssuer(url, audience, userClaim, groupsClaim string) *issuer {
	config := &oidc.Config{ClientID: audience}
	for _, a := range algorithms {
		config.SupportedSigningAlgs = append(config.SupportedSigningAlgs, string(a))
	}
	return &issuer{keys: newKeys(url), verifies: config, userClaim: userClaim, groupsClaim: groupsClaim}
}

// proof holds the user and the groups of a valid ID token.
type proof struct {
	user   string
	groups []string
}

// prove returns what an ID token proves. To check a signature costs about as much as the
// rest of a request, so it is checked each time.
func (i *issuer) prove(ctx context.Context, text string) (p proof, err error) {
	set, err := i.keys.find(ctx, keyID(text))
	if err != nil {
		return p, &DeniedError{http.StatusServiceUnavailable, "issuer_unavailable",
			"the OIDC issuer does not give its keys, so the token cannot be verified; ask again after Retry-After"}
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
		return p, unauthorized("the ID token does not say that its email is verified (email_verified: true); let the issuer add the " +
			"claim, or set oidc.userClaim to another one")
	}
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
