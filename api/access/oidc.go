package access

import (
	"context"
	"errors"
	"net/http"
	"strings"
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
	mu                     sync.Mutex
	verifier               *oidc.IDTokenVerifier
	lastFailed             time.Time
}

func newIssuer(url, audience, userClaim, groupsClaim string) *issuer {
	return &issuer{url: url, audience: audience, userClaim: userClaim, groupsClaim: groupsClaim, client: &http.Client{Timeout: 5 * time.Second}}
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

// verify returns the user and the groups that an ID token proves.
func (i *issuer) verify(ctx context.Context, text string) (user string, groups []string, err error) {
	verifier, err := i.discovered()
	if err != nil {
		return "", nil, &Denied{http.StatusServiceUnavailable, "issuer_unavailable", "the OIDC issuer cannot be reached, so the token cannot be verified"}
	}
	token, err := verifier.Verify(ctx, text)
	if err != nil {
		return "", nil, unauthorized("the ID token is invalid, expired, or for another audience")
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return "", nil, unauthorized("the ID token's claims cannot be read")
	}
	if verified, told := claims["email_verified"].(bool); i.userClaim == "email" && told && !verified {
		return "", nil, unauthorized("the ID token's email is not verified")
	}
	user, _ = claims[i.userClaim].(string)
	if user == "" || len(user) > 200 || strings.ContainsFunc(user, control) {
		return "", nil, unauthorized("the ID token has no claim " + i.userClaim + " that names a user")
	}
	list, _ := claims[i.groupsClaim].([]any)
	for _, g := range list {
		if name, ok := g.(string); ok {
			groups = append(groups, name)
		}
	}
	return user, groups, nil
}
