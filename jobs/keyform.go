package jobs

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// KeyForm is the form in which a target takes the idempotency key of a run. Each form is a
// function of the run ID alone, which never changes, so every process sends the same key.
// Each contains the run's scheduled time, by which a key leads back to its run.
type KeyForm string

// The forms of a key. In all but KeyRunID, hashed bits are the first ones of the SHA-256 of
// the run ID. Two runs that are due in the same second have the same key with a
// probability of 2^-74 at most.
const (
	KeyRunID   KeyForm = "runId"   // the run ID itself: up to 128 characters
	KeyUUID4   KeyForm = "uuid4"   // a UUID of version 4: the time in seconds in its first 40 bits, 82 bits hashed
	KeyUUID7   KeyForm = "uuid7"   // a UUID of version 7: the time in milliseconds, 74 bits hashed
	KeyHex32   KeyForm = "hex32"   // 32 hexadecimal digits: the time in seconds in the first 10, 88 bits hashed
	KeyToken22 KeyForm = "token22" // 22 of A-Z a-z 0-9 - _: the bits of KeyHex32 in base64url
	KeyToken64 KeyForm = "token64" // up to 64 of A-Z a-z 0-9 - _: the job ID's first 24 characters, the time, 128 bits hashed
)

var keyForms = []KeyForm{KeyRunID, KeyUUID4, KeyUUID7, KeyHex32, KeyToken22, KeyToken64}

// Known reports whether this program can make keys of the form.
func (f KeyForm) Known() bool { return f == "" || slices.Contains(keyForms, f) }

func (f KeyForm) isRunID() bool { return f == "" || f == KeyRunID }

// Of returns the key of a run. The zero KeyForm is KeyRunID. It panics for a form that is
// not Known, since another key would be new work to the target.
func (f KeyForm) Of(runID string) string {
	if f.isRunID() {
		return runID
	}
	jobID, at, _, err := ParseRunID(runID)
	if err != nil { // a row that was changed by hand: the hash alone tells it apart
		at = time.Unix(0, 0)
	}
	sum := sha256.Sum256([]byte(runID))
	switch f {
	case KeyUUID4:
		return uuidOf(appendBits(at.Unix(), 5, sum[:11]), 4)
	case KeyUUID7:
		return uuidOf(appendBits(at.UnixMilli(), 6, sum[:10]), 7)
	case KeyHex32:
		return hex.EncodeToString(appendBits(at.Unix(), 5, sum[:11]))
	case KeyToken22:
		return base64.RawURLEncoding.EncodeToString(appendBits(at.Unix(), 5, sum[:11]))
	case KeyToken64:
		name := strings.NewReplacer(".", "_", keySeparator, "_").Replace(jobID[:min(len(jobID), 24)])
		return name + "-" + at.UTC().Format(compactTime) + "-" + base64.RawURLEncoding.EncodeToString(sum[:hashedBytes])
	}
	panic("unknown form of a key: " + string(f))
}

// hashedBytes is the number of bytes of the hash in a key of KeyToken64.
const hashedBytes = 16

// compactTime is the time in a key of KeyToken64: ISO 8601's basic format.
const compactTime = "20060102T150405Z"

// appendBits returns the last n bytes of a number, followed by more.
func appendBits(number int64, n int, more []byte) []byte {
	b := make([]byte, 0, n+len(more))
	for i := n - 1; i >= 0; i-- {
		b = append(b, byte(number>>(8*i)))
	}
	return append(b, more...)
}

// uuidOf writes 16 bytes as a UUID (RFC 9562) of a version.
func uuidOf(b []byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// longest returns the length of the longest key of a job: of a run with a token, which is a
// UUID. A platform's event IDs are UUIDs too.
func (f KeyForm) longest(jobID string) int {
	const uuid = "00000000-0000-0000-0000-000000000000"
	return len(f.Of(RunIDWithToken(jobID, time.Unix(0, 0), uuid)))
}

// TimeOfKey returns the scheduled time that a key of another form than KeyRunID contains.
// Whether a run of that time has the key, IsKeyOf says.
func TimeOfKey(key string) (at time.Time, ok bool) {
	var b []byte
	var err error
	switch len(key) {
	case 22:
		b, err = base64.RawURLEncoding.DecodeString(key)
	case 32, 36:
		b, err = hex.DecodeString(strings.ReplaceAll(key, "-", ""))
	default:
		return timeOfToken(key)
	}
	switch {
	case err != nil || len(b) != 16:
		return time.Time{}, false
	case len(key) == 36 && b[6]>>4 == 7:
		return time.UnixMilli(bigEndian(b[:6])).UTC(), true
	}
	return time.Unix(bigEndian(b[:5]), 0).UTC(), true
}

func timeOfToken(key string) (time.Time, bool) {
	end := len(key) - len("-") - base64.RawURLEncoding.EncodedLen(hashedBytes)
	begin := end - len(compactTime)
	if begin < 1 {
		return time.Time{}, false
	}
	at, err := time.Parse(compactTime, key[begin:end])
	return at, err == nil
}

func bigEndian(b []byte) (n int64) {
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	return n
}

// IsKeyOf reports whether a key, in whatever form, is a run's. The hexadecimal digits of a
// UUID or of KeyHex32 may be in capitals, as some databases print them.
func IsKeyOf(key, runID string) bool {
	return slices.ContainsFunc(keyForms, func(f KeyForm) bool {
		own := f.Of(runID)
		return own == key || strings.EqualFold(own, key) && (f == KeyUUID4 || f == KeyUUID7 || f == KeyHex32)
	})
}
