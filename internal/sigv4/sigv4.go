// Package sigv4 signs requests to AWS with Signature Version 4 ("Create a signed AWS
// API request" in AWS's IAM User Guide). It needs no AWS SDK, which would add megabytes
// to a function's binary (docs/decisions/0014-secrets-without-the-sdk.md).
package sigv4

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"sort"
	"strings"
	"time"
)

// Credentials are an access key, and the token of a session if it is a temporary one.
type Credentials struct{ AccessKeyID, SecretAccessKey, SessionToken string }

// Scope is where a signature is valid.
type Scope struct{ Region, Service string }

// ErrQuery is the error of a query that cannot be decoded: no two programs agree on
// its canonical form.
var ErrQuery = errors.New("the query has a percent sign that encodes nothing")

// Sign adds the signature of the request, whose body is given. Signed are the host, the
// type of the content, all fields X-Amz-* and the fields that are named; proxies may
// change any other. Amazon S3 wants another form of the path: Sign is not for it.
func Sign(req *http.Request, body []byte, c Credentials, s Scope, now time.Time, fields ...string) error {
	query, err := canonicalQuery(req.URL.RawQuery)
	if err != nil {
		return err
	}
	stamp := now.UTC().Format("20060102T150405Z")
	req.Header.Del("Authorization")
	req.Header.Del("X-Amz-Security-Token")
	req.Header.Set("X-Amz-Date", stamp)
	if c.SessionToken != "" {
		req.Header.Set("X-Amz-Security-Token", c.SessionToken)
	}
	headers, names := canonicalHeaders(req, fields)
	request := strings.Join([]string{req.Method, canonicalPath(req.URL), query, headers, names, hexSum(body)}, "\n")
	scope := strings.Join([]string{stamp[:8], s.Region, s.Service, "aws4_request"}, "/")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, hexSum([]byte(request))}, "\n")
	key := []byte("AWS4" + c.SecretAccessKey)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.AccessKeyID+"/"+scope+
		", SignedHeaders="+names+", Signature="+hex.EncodeToString(mac(key, text)))
	return nil
}

// canonicalPath is the path as it is sent, without doubled slashes and dot segments, and
// encoded once more.
func canonicalPath(u *url.URL) string {
	sent := cmp.Or(u.EscapedPath(), "/")
	clean := path.Clean(sent)
	if strings.HasSuffix(sent, "/") && clean != "/" {
		clean += "/"
	}
	segments := strings.Split(clean, "/")
	for i, segment := range segments {
		segments[i] = encode(segment)
	}
	return strings.Join(segments, "/")
}

// canonicalQuery is sorted by the encoded names, then by the encoded values.
func canonicalQuery(raw string) (string, error) {
	var pairs [][2]string
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, bad := url.QueryUnescape(name)
		value, worse := url.QueryUnescape(value)
		if bad != nil || worse != nil {
			return "", ErrQuery
		}
		pairs = append(pairs, [2]string{encode(name), encode(value)})
	}
	sort.Slice(pairs, func(i, k int) bool {
		return cmp.Or(cmp.Compare(pairs[i][0], pairs[k][0]), cmp.Compare(pairs[i][1], pairs[k][1])) < 0
	})
	parts := make([]string, len(pairs))
	for i, p := range pairs {
		parts[i] = p[0] + "=" + p[1]
	}
	return strings.Join(parts, "&"), nil
}

// encode leaves RFC 3986's unreserved characters alone.
func encode(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// canonicalHeaders are the signed ones, lower-case and sorted, and their names.
func canonicalHeaders(req *http.Request, fields []string) (lines, names string) {
	values := map[string]string{"host": cmp.Or(req.Host, req.URL.Host)}
	list := []string{"host"}
	for name, all := range req.Header {
		lower := strings.ToLower(name)
		if lower != "content-type" && !strings.HasPrefix(lower, "x-amz-") &&
			!slices.ContainsFunc(fields, func(f string) bool { return strings.EqualFold(f, name) }) {
			continue
		}
		trimmed := make([]string, len(all))
		for i, value := range all {
			trimmed[i] = strings.Join(strings.Fields(value), " ")
		}
		values[lower] = strings.Join(trimmed, ",")
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
