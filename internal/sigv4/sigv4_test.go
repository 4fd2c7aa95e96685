package sigv4_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/sigv4"
)

// session is the token of AWS's suite.
const session = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/" +
	"qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7Z" +
	"D0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="

const unreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// vector is a request of AWS's published test suite for Signature Version 4, or one
// that other signers have signed.
type vector struct {
	name, method, target, body string
	fields                     http.Header
	session                    string
	signed, signature          string
}

var vectors = []vector{
	{name: "get-vanilla", signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{name: "get-vanilla-query", target: "?Param1=value1", signature: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
	{name: "get-vanilla-query-order-key-case", target: "?Param2=value2&Param1=value1", signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	{name: "get-vanilla-query-order-key", target: "?Param1=value2&Param1=value1", signature: "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
	{name: "get-vanilla-query-order-value", target: "?Param1=value2&Param1=Value1", signature: "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"},
	{name: "get-vanilla-query-unreserved", target: "?" + unreserved + "=" + unreserved, signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
	{name: "get-vanilla-utf8-query", target: "?%E1%88%B4=bar", signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
	{name: "plus-in-query", target: "?a=b+c&a=b", signature: "67711592d9460f812f551e4afeb64da75dce55b650beb46d5b99556d2cd0c487"},
	{name: "get-unreserved", target: unreserved, signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
	{name: "get-relative", target: "example/..", signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{name: "get-slash", target: "/", signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{name: "get-slash-pointless-dot", target: "./example", signature: "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"},
	{name: "get-slashes", target: "/example//", signature: "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"},
	{name: "path-encoded-twice", target: "example%20space/", signature: "446b817944c553435b35e813c261ff4e161fff982d1bacdef1c87f6785dd1662"},
	{name: "get-header-value-trim", fields: http.Header{"My-Header1": {" value1"}, "My-Header2": {` "a   b   c"`}},
		signed: "host;my-header1;my-header2;x-amz-date", signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
	{name: "get-header-key-duplicate", fields: http.Header{"My-Header1": {"value2", "value2", "value1"}},
		signed: "host;my-header1;x-amz-date", signature: "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
	{name: "post-vanilla", method: http.MethodPost, signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	{name: "post-vanilla-query", method: http.MethodPost, target: "?Param1=value1", signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
	{name: "post-x-www-form-urlencoded", method: http.MethodPost, body: "Param1=value1", fields: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		signed: "content-type;host;x-amz-date", signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	{name: "post-sts-header-before", method: http.MethodPost, session: session,
		signed: "host;x-amz-date;x-amz-security-token", signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
	{name: "fields of proxies are left alone", fields: http.Header{"User-Agent": {"x"}, "Traceparent": {"00-1"}, "X-Amzn-Trace-Id": {"y"}, "Authorization": {"Basic x"}},
		signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
}

func request(t *testing.T, v vector) *http.Request {
	t.Helper()
	method := v.method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequest(method, "https://example.amazonaws.com/"+v.target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range v.fields {
		req.Header[name] = values
	}
	return req
}

func TestTheSignaturesAreThoseOfAWSsTestSuite(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			req := request(t, v)
			keys := sigv4.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", SessionToken: v.session}
			at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
			for range 2 { // a request that is signed once more has one signature
				if err := sigv4.Sign(req, []byte(v.body), keys, sigv4.Scope{Region: "us-east-1", Service: "service"}, at, "my-header1", "My-Header2"); err != nil {
					t.Fatal(err)
				}
			}
			signed := v.signed
			if signed == "" {
				signed = "host;x-amz-date"
			}
			want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" + signed + ", Signature=" + v.signature
			if got := req.Header.Values("Authorization"); len(got) != 1 || got[0] != want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n"), want)
			}
		})
	}
}

func TestAQueryThatCannotBeDecodedIsNotSigned(t *testing.T) {
	for _, query := range []string{"?a=%zz", "?%=1"} {
		req := request(t, vector{target: query})
		if err := sigv4.Sign(req, nil, sigv4.Credentials{}, sigv4.Scope{}, time.Now()); err == nil || req.Header.Get("Authorization") != "" {
			t.Errorf("%s: error %v, signed %q", query, err, req.Header.Get("Authorization"))
		}
	}
}
