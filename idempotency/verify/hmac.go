package verify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// webhookSkew is how old or how new a call may be: the specification's.
	webhookSkew = 5 * time.Minute
	// maxSignatures are looked at in one call.
	maxSignatures = 8
)

// HMAC verifies calls of auth type hmac (https://www.standardwebhooks.com). Make it
// with [NewHMAC].
type HMAC struct {
	MaxBody int64            // default 1 MiB
	Skew    time.Duration    // how old or how new a call may be; default 5m
	Now     func() time.Time // default time.Now

	principal string
	keys      [][]byte
}

// NewHMAC returns a verifier that takes calls signed with any of the secrets
// (whsec_...), and gives them the principal: the registry's name. While a secret is
// rotated there are two.
func NewHMAC(principal string, secrets ...string) (*HMAC, error) {
	h := &HMAC{principal: principal}
	for i, text := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
		if err != nil || len(key) < 24 {
			return nil, fmt.Errorf("secret %d of %d is invalid; use whsec_ and at least 24 bytes in base64", i+1, len(secrets))
		}
		h.keys = append(h.keys, key)
	}
	if principal == "" || len(h.keys) == 0 {
		return nil, errors.New("a verifier needs a principal and at least one secret")
	}
	return h, nil
}

// Middleware answers 401 to requests without a valid signature and passes the
// others to next.
func (h *HMAC) Middleware(next http.Handler) http.Handler { return middleware(h, h.MaxBody, next) }

func (h *HMAC) verify(r *http.Request, body []byte) (string, error) {
	id, at := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || id == "" || strings.Contains(id, ".") {
		return "", refused("the call has no webhook-id, webhook-timestamp and webhook-signature")
	}
	if !h.signed(r.Header.Get("Webhook-Signature"), id+"."+at+".", body) {
		return "", refused("the signature is not of a secret that is known here, or of another body")
	}
	skew, now := h.Skew, time.Now()
	if skew <= 0 {
		skew = webhookSkew
	}
	if h.Now != nil {
		now = h.Now()
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > skew || age < -skew {
		return "", refused("the call was signed too long ago, or in the future; compare the clocks")
	}
	// Of the key that the ID was made of, there is one alone: a key that has %2E itself
	// must not pass for it, as a recorded call would then work again under that key.
	if len(r.Header.Values("Idempotency-Key")) != 1 || r.Header.Get("Idempotency-Key") != strings.ReplaceAll(id, "%2E", ".") {
		return "", refused("the signature is for another idempotency key")
	}
	return h.principal, nil
}

// signed reports whether one of the signatures, v1,BASE64 separated by blanks, is
// of one of the secrets.
func (h *HMAC) signed(signatures, prefix string, body []byte) bool {
	found := false
	for i, s := range strings.Fields(signatures) {
		coded, v1 := strings.CutPrefix(s, "v1,")
		got, err := base64.StdEncoding.DecodeString(coded)
		if i == maxSignatures {
			break
		}
		if !v1 || err != nil {
			continue
		}
		for _, key := range h.keys {
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(prefix))
			mac.Write(body)
			found = hmac.Equal(mac.Sum(nil), got) || found
		}
	}
	return found
}
