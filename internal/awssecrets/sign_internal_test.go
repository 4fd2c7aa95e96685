package awssecrets

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// The request post-vanilla of AWS's published test suite for Signature Version 4.
func TestTheSignatureIsThatOfAWSsTestSuite(t *testing.T) {
	req, err := http.NewRequest(http.MethodPost, "https://example.amazonaws.com/", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	keys := credentials{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	sign(req, nil, keys, "us-east-1", "service", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
	const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, " +
		"Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
	if got := req.Header.Get("Authorization"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
