package targets

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// maxToken is the longest access token that is used. Headers of more than that
// are refused by most servers.
const maxToken = 16 << 10

// tokenLifetime says how long an endpoint's token lives, or why it is not used.
// The errors of package oauth2 are not passed on: they quote the answer.
func tokenLifetime(t *oauth2.Token, err error, asked time.Time) (time.Duration, *unsignedError) {
	if err != nil {
		return 0, refusal(err)
	}
	switch {
	case len(t.AccessToken) > maxToken || !visible(t.AccessToken):
		return 0, &unsignedError{why: "the token endpoint gave a token that cannot stand in a header"}
	case t.TokenType != "" && !strings.EqualFold(t.TokenType, "bearer"):
		return 0, &unsignedError{why: "the token endpoint gave a token that is not of type Bearer"}
	case t.Expiry.IsZero():
		return unsaidLife, nil
	case !t.Expiry.After(asked):
		return 0, &unsignedError{why: "the token endpoint gave a token that has expired"}
	}
	return t.Expiry.Sub(asked), nil
}

// errorCodes are the codes of RFC 6749, section 5.2. No other text of an endpoint
// is shown.
var errorCodes = map[string]bool{
	"invalid_request": true, "invalid_client": true, "invalid_grant": true,
	"unauthorized_client": true, "unsupported_grant_type": true, "invalid_scope": true,
}

// refusal tells a client that is turned away (400, 401, 403) from an endpoint in
// trouble: asking again helps only the latter.
func refusal(err error) *unsignedError {
	var answered *oauth2.RetrieveError
	var unanswered *url.Error
	if errors.As(err, &unanswered) {
		return &unsignedError{why: "the token endpoint could not be asked: " + cause(context.Background(), err)}
	}
	if !errors.As(err, &answered) || answered.Response == nil {
		return &unsignedError{why: "the token endpoint gave no valid answer"}
	}
	what := fmt.Sprintf("the token endpoint answered HTTP %d", answered.Response.StatusCode)
	if errorCodes[answered.ErrorCode] {
		what += " " + answered.ErrorCode
	}
	switch s := answered.Response.StatusCode; {
	case s == http.StatusBadRequest, s == http.StatusUnauthorized, s == http.StatusForbidden:
		return &unsignedError{why: what + ": check the client's id, secret and scopes", denied: true}
	case s >= 300 && s < 400:
		return &unsignedError{why: what + ": redirects are not followed; correct the token URL"}
	}
	return &unsignedError{why: what}
}
