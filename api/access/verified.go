package access

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// verifyAgain is how long a verified ID token is not verified again.
	verifyAgain = time.Minute
	maxVerified = 10_000
)

// verified are the ID tokens that were verified and have not expired, by their
// hashes.
type verified struct {
	mu sync.Mutex
	by map[[sha256.Size]byte]proof
}

// proof is what an ID token proves.
type proof struct {
	user        string
	groups      []string
	at, expires time.Time
}

func (p proof) fresh() bool { return time.Since(p.at) < verifyAgain }

func (v *verified) get(text string) (p proof, ok bool) {
	sum := sha256.Sum256([]byte(text))
	v.mu.Lock()
	defer v.mu.Unlock()
	if p, ok = v.by[sum]; ok && !time.Now().Before(p.expires) {
		delete(v.by, sum)
		return proof{}, false
	}
	return p, ok
}

func (v *verified) put(text string, p proof) {
	sum := sha256.Sum256([]byte(text))
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.by) >= maxVerified {
		clear(v.by)
	}
	v.by[sum] = p
}

func (v *verified) forget(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.by, sha256.Sum256([]byte(text)))
}
