package awssecrets

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

type credentials struct{ id, secret, token string }

// sign adds the signature of AWS Signature Version 4 to a POST request with the
// path / and no query ("Create a signed AWS API request" in AWS's IAM User Guide).
func sign(req *http.Request, body []byte, c credentials, region, service string, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	req.Header.Set("X-Amz-Date", stamp)
	if c.token != "" {
		req.Header.Set("X-Amz-Security-Token", c.token)
	}
	headers, names := canonicalHeaders(req)
	request := strings.Join([]string{req.Method, "/", "", headers, names, hexSum(body)}, "\n")
	scope := strings.Join([]string{stamp[:8], region, service, "aws4_request"}, "/")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, hexSum([]byte(request))}, "\n")
	key := []byte("AWS4" + c.secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.id+"/"+scope+
		", SignedHeaders="+names+", Signature="+hex.EncodeToString(mac(key, text)))
}

// canonicalHeaders are all of the request's, lower-case and sorted, and their names.
func canonicalHeaders(req *http.Request) (lines, names string) {
	values := map[string]string{"host": req.URL.Host}
	list := []string{"host"}
	for name := range req.Header {
		lower := strings.ToLower(name)
		values[lower] = strings.TrimSpace(req.Header.Get(name))
		list = append(list, lower)
	}
	slices.Sort(list)
	var b strings.Builder
	for _, name := range list {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	return b.String(), strings.Join(list, ";")
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
