// Package completion lets a target report on a run that it accepted with 202: how
// far it is, or that it is done. Each call of a job with async carries the address
// for that and a token that is valid for the one run. A report decides nothing: after
// a report that the work is done, the request is sent at once instead of at the next
// poll, and its answer decides (see ledger.ReportRequest). So a target need not report, and a
// stolen token allows only a wrong progress text and an earlier call.
package completion

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// The variables that configure completion. EnvSecret needs EnvPublicURL.
const (
	EnvPublicURL = "CRONCE_PUBLIC_URL"        // where targets reach this process
	EnvSecret    = "CRONCE_COMPLETION_SECRET" // the same in all processes of a registry
)

// minSecret is the shortest secret: 128 bits, if it is random hexadecimal.
const minSecret = 32

// Tokens makes and checks the addresses and tokens of one registry's runs.
type Tokens struct {
	base     string
	registry string
	secret   []byte
}

// FromEnv reads the configuration by lookup. publicURL, if it is not empty, is used
// instead of EnvPublicURL. FromEnv returns nil if EnvSecret is not set. No error shows
// the secret.
func FromEnv(registry, publicURL string, lookup func(string) (string, bool)) (*Tokens, error) {
	base := publicURL
	if base == "" {
		base, _ = lookup(EnvPublicURL)
	}
	secret, set := lookup(EnvSecret)
	if !set {
		return nil, nil // the URL alone is for links in notifications
	}
	if err := CheckSecret(lookup); err != nil {
		return nil, err
	}
	if base == "" {
		return nil, fmt.Errorf("%s needs %s (or serve --public-url); set both, or unset %[1]s", EnvSecret, EnvPublicURL)
	}
	return New(base, registry, secret)
}

// CheckSecret checks the secret by lookup without the rest of the configuration. It
// returns nil if EnvSecret is not set. No error shows the secret.
func CheckSecret(lookup func(string) (string, bool)) error {
	secret, set := lookup(EnvSecret)
	if set && strings.TrimSpace(secret) == "" { // a Kubernetes secret without the value, for example
		return fmt.Errorf("%s is empty; give it at least %d characters, or unset it if targets do not report", EnvSecret, minSecret)
	}
	if set {
		return checkLength(secret)
	}
	return nil
}

func checkLength(secret string) error {
	if len(secret) < minSecret {
		return fmt.Errorf("%s is too short; use at least %d characters, e.g. the output of `openssl rand -hex 32`", EnvSecret, minSecret)
	}
	return nil
}

// New checks the public URL, to which the paths of package completion are appended,
// and the secret that the tokens are derived from.
func New(publicURL, registry, secret string) (*Tokens, error) {
	u, err := url.Parse(publicURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New(EnvPublicURL + " is not a URL that targets can call; use https://HOST with an optional path, without " +
			"user, query and fragment")
	}
	if err := checkLength(secret); err != nil {
		return nil, err
	}
	return &Tokens{base: strings.TrimSuffix(u.String(), "/"), registry: registry, secret: []byte(secret)}, nil
}

// For returns where the target of a run may report, and its token.
func (t *Tokens) For(runID string) (address, token string) {
	return t.base + "/v1/runs/" + url.PathEscape(runID) + "/completion", base64.RawURLEncoding.EncodeToString(t.mac(runID))
}

// Valid reports, in the same time for each wrong token, whether it is the run's.
func (t *Tokens) Valid(runID, token string) bool {
	got, err := base64.RawURLEncoding.DecodeString(token)
	return hmac.Equal(got, t.mac(runID)) && err == nil
}

func (t *Tokens) mac(runID string) []byte {
	h := hmac.New(sha256.New, t.secret)
	fmt.Fprintf(h, "cronce completion\n%s\n%s", t.registry, runID)
	return h.Sum(nil)
}
