package targets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/sigv4"
)

// sigV4 is auth type sigv4: a signature of the whole call, its body included, that
// AWS's IAM checks before an API or a function gets it.
type sigV4 struct {
	sources // the access key's ID, the secret access key, and perhaps the session's token
	scope   sigv4.Scope
	now     func() time.Time
}

func (s sigV4) sign(_ context.Context, req *http.Request, c executor.Call) ([]string, error) {
	used, err := s.get()
	if err != nil {
		return nil, err
	}
	keys := sigv4.Credentials{AccessKeyID: used[0], SecretAccessKey: used[1]}
	if len(used) > 2 {
		keys.SessionToken = used[2]
	}
	sum := sha256.Sum256(c.Call.Body)
	req.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:])) // some services want it, the others take it
	own := slices.Collect(maps.Keys(c.Call.Headers))
	for name := range req.Header {
		if name == keyHeader(c) || strings.HasPrefix(name, "Cronce-") {
			own = append(own, name)
		}
	}
	if err := sigv4.Sign(req, c.Call.Body, keys, s.scope, s.now(), own...); err != nil {
		return nil, &unsignedError{why: err.Error(), denied: true}
	}
	return used, nil
}

// refusalOf returns the status with which a target refuses the credentials: AWS answers
// 403 to a signature that it does not take.
func refusalOf(s signer) int {
	if _, is := s.(sigV4); is {
		return http.StatusForbidden
	}
	return http.StatusUnauthorized
}
