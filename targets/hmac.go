package targets

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/executor"
)

// standardWebhooks is auth type hmac: a signature of the run, the time and the body
// (https://www.standardwebhooks.com, symmetric signatures). While a secret is
// rotated there are two, and a target takes either.
type standardWebhooks struct {
	sources // the secret, and perhaps the next one
	now     func() time.Time
}

func (s standardWebhooks) sign(_ context.Context, req *http.Request, c executor.Call) ([]string, error) {
	used, err := s.get()
	if err != nil {
		return nil, err
	}
	id, at := webhookID(c.Key()), strconv.FormatInt(s.now().Unix(), 10)
	var signatures []string
	for i, text := range used {
		key, err := webhookSecret(text)
		if err != nil {
			return nil, &unsignedError{why: s.sources[i].name + " " + err.Error(), wait: firstHoldOff}
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + at + "."))
		mac.Write(c.Call.Body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Webhook-Signature", strings.Join(signatures, " "))
	return used, nil
}

func (s standardWebhooks) secrets() (list []string) {
	for _, text := range s.sources.secrets() {
		list = append(list, strings.TrimPrefix(text, "whsec_"))
	}
	return list
}

// webhookID returns a run's key without full stops: what is signed is id.time.body, of
// which an id with a full stop could be read in two ways. No key has a percent sign.
func webhookID(key string) string { return strings.ReplaceAll(key, ".", "%2E") }

var errNotAWebhookSecret = errors.New("must hold whsec_ followed by 24 to 64 bytes in base64")

func webhookSecret(text string) ([]byte, error) {
	coded, is := strings.CutPrefix(text, "whsec_")
	key, err := base64.StdEncoding.DecodeString(coded)
	if !is || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errNotAWebhookSecret
	}
	return key, nil
}

// standardWebhooks reads the secrets; one that is none ends the start.
func (r *resolver) standardWebhooks() standardWebhooks {
	usable := func(text string) error {
		_, err := webhookSecret(text)
		return err
	}
	return standardWebhooks{r.usableSources(usable, "secret", "nextSecret"), r.now}
}
