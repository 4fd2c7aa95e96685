package targets_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/targets"
)

// The secrets of one target: what it is sent, what the token endpoint is sent,
// and what stands in its URL.
const (
	bearerToken  = "br-3f9a1c7e5d2b+x/y="
	clientSecret = "cs-8e2d4b6a0c1f"
	urlSecret    = "b00k7a5f2e1d9c84"
)

// planted are the secrets in the forms in which a peer may repeat them.
func planted() map[string]string {
	forms := map[string]string{}
	basic := "client:" + clientSecret
	for name, secret := range map[string]string{"bearer": bearerToken, "client secret": clientSecret, "URL": urlSecret, "basic": basic} {
		forms[name] = secret
		forms[name+" in upper case"] = strings.ToUpper(secret)
		forms[name+" in base64"] = base64.StdEncoding.EncodeToString([]byte(secret))
		forms[name+" in base64 after a byte"] = base64.URLEncoding.EncodeToString([]byte(":" + secret + ":"))
		forms[name+" in base64 after two"] = base64.StdEncoding.EncodeToString([]byte("a:" + secret))
		forms[name+" escaped"] = url.QueryEscape(secret)
		forms[name+" quoted"] = strings.Trim(fmt.Sprintf("%q", secret), `"`)
		forms[name+" in hexadecimal"] = hex.EncodeToString([]byte(secret))
		forms[name+", the first half"] = secret[:len(secret)*3/5]
		forms[name+" without its signs"] = strings.NewReplacer("-", "", "+", "", "/", "", "=", "", ":", "").Replace(secret)
		forms[name+" with others"] = strings.ReplaceAll(secret, "-", "_")
	}
	return forms
}

// echoing answers with a text in every field that a target has.
func echoing(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Trailer")
		for _, name := range []string{"Location", "Retry-After", "WWW-Authenticate", "Server", "X-Request-Id", "Set-Cookie"} {
			w.Header().Set(name, text)
		}
		w.Header().Set("Content-Type", "application/problem+json; x="+url.QueryEscape(text))
		w.WriteHeader(status)
		member := r.URL.Query().Get("member")
		// A code has lower case alone, as an echo would have to.
		fmt.Fprintf(w, `{%q:%q,"title":%[2]q,"detail":%[2]q,"instance":%[2]q}`, member, "bad_token."+strings.ToLower(text))
		w.Header().Set("X-Trailer", text)
	}
}

// gives is a token endpoint that hands out the bearer token.
func gives(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, bearerToken)
}

// shown is what an attempt leaves: what goes into the ledger and the log.
func shown(t *testing.T, target, token string, edit func(*targets.Config), c executor.Call) string {
	t.Helper()
	var log bytes.Buffer
	e := oauth2Env(target+"/hooks/"+urlSecret, token+"?key="+urlSecret)
	e["CLIENT_ID"], e["CLIENT_SECRET"] = "client", clientSecret
	ts := resolve(t, oauth2, e, func(c *targets.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		if edit != nil {
			edit(c)
		}
	})
	a := attempt(t, ts, c, maxWait)
	return fmt.Sprintf("%+v\n%s", a, log.String())
}

// clean fails where a text has a part of a secret in some form.
func clean(t *testing.T, rule, form, text string) {
	t.Helper()
	lower := strings.ToLower(text)
	for i := 0; i+8 <= len(form); i++ {
		if strings.Contains(lower, strings.ToLower(form[i:i+8])) {
			t.Errorf("%s shows %q of %q:\n%s", rule, form[i:i+8], form, text)
			return
		}
	}
}

func TestNoFieldOfAPeerShowsASecret(t *testing.T) {
	endpoint := serve(t, gives).URL
	for name, form := range planted() {
		t.Run(name, func(t *testing.T) {
			for _, status := range []int{302, 400, 401, 409, 422, 429, 500} {
				for _, member := range []string{"code", "type"} {
					c := call()
					c.Call.Path += "?member=" + member
					clean(t, fmt.Sprint(status, " ", member), form, shown(t, serve(t, echoing(status, form)).URL, endpoint, nil, c))
				}
			}
			for _, status := range []int{200, 400, 401, 500} {
				for _, member := range []string{"error", "access_token", "token_type", "expires_in"} {
					broken := serve(t, func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Content-Type", "application/json")
						w.Header().Set("WWW-Authenticate", form)
						w.WriteHeader(status)
						fmt.Fprintf(w, `{%q:"%s\n","error_description":%[3]q,"error_uri":%[3]q}`, member, form, form)
					}).URL
					clean(t, "the token endpoint's "+member, form, shown(t, nobody, broken, nil, call()))
				}
			}
		})
	}
}

func TestNoNameInACertificateShowsASecret(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	named := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{clientSecret + ".example"}}
	der, err := x509.CreateCertificate(rand.Reader, named, named, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(plain(200))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	quiet(s)
	s.StartTLS()
	t.Cleanup(s.Close)
	cert, _ := x509.ParseCertificate(der)
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	clean(t, "a certificate's name", clientSecret, shown(t, s.URL, serve(t, gives).URL, func(c *targets.Config) { c.RootCAs = roots }, call()))
}

// A code that has nothing of a secret is kept, and so are those that decide.
func TestAnOrdinaryCodeIsKept(t *testing.T) {
	for _, code := range []string{"commission_locked", "not_found", "idempotency_key_payload_mismatch"} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprintf(w, `{"code":%q}`, code)
		})
		if got := shown(t, s.URL, serve(t, gives).URL, nil, call()); !strings.Contains(got, "Code:"+code) {
			t.Errorf("%s is not kept: %s", code, got)
		}
	}
}
