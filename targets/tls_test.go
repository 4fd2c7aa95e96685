package targets_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/targets"
)

// issuer signs certificates.
type issuer struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newIssuer(t *testing.T, name string) *issuer {
	t.Helper()
	a := &issuer{t: t}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var der []byte
	der, a.key = a.sign(template, template, nil)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pem = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

func (a *issuer) sign(template, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		a.t.Fatal(err)
	}
	return der, key
}

// issue makes a certificate and its key, in PEM.
func (a *issuer) issue(name string) (cert, key string) {
	a.t.Helper()
	der, private := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, a.cert, a.key)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

// mutual serves to clients of an authority, and says who called last.
func mutual(t *testing.T, server, clients *issuer) (url string, caller *string) {
	t.Helper()
	caller = new(string)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		*caller = r.TLS.PeerCertificates[0].Subject.CommonName
	}))
	cert, key := server.issue("membership")
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(clients.cert)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	s.EnableHTTP2 = true
	quiet(s)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, caller
}

func TestATargetMayAskForACertificateAndHaveAnAuthorityOfItsOwn(t *testing.T) {
	servers, clients := newIssuer(t, "servers"), newIssuer(t, "clients")
	url, caller := mutual(t, servers, clients)
	cert, key := clients.issue("acme")
	e := env{"MEMBERSHIP_URL": url, "CA": servers.pem, "CERT": cert, "KEY": key}
	full := jobs.TLS{CA: jobs.Secret{Env: "CA"}, Cert: jobs.Secret{Env: "CERT"}, Key: jobs.Secret{Env: "KEY"}}
	if a := attempt(t, resolve(t, jobs.Target{TLS: full}, e, nil), call(), maxWait); a.Kind != ledger.AnswerFresh || *caller != "acme" {
		t.Errorf("%+v, called by %q", a, *caller)
	}
	if a := attempt(t, resolve(t, jobs.Target{TLS: jobs.TLS{CA: full.CA}}, e, nil), call(), maxWait); a.Status != 0 {
		t.Errorf("without a certificate: %+v", a)
	}
	if a := attempt(t, resolve(t, jobs.Target{TLS: jobs.TLS{Cert: full.Cert, Key: full.Key}}, e, nil), call(), maxWait); a.Kind != ledger.AnswerFailed || !strings.Contains(a.Error, "unknown authority") {
		t.Errorf("without its authority: %+v", a)
	}
}

// Certificates are renewed file by file: what does not fit together is not used.
func TestCertificatesAreReadAgain(t *testing.T) {
	servers, clients := newIssuer(t, "servers"), newIssuer(t, "clients")
	url, caller := mutual(t, servers, clients)
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) jobs.Secret { return jobs.Secret{File: filepath.Join(dir, name)} }
	cert, key := clients.issue("first")
	write("ca", servers.pem)
	write("cert", cert)
	write("key", key)
	now := time.Now()
	ts := resolve(t, jobs.Target{TLS: jobs.TLS{CA: at("ca"), Cert: at("cert"), Key: at("key")}}, env{"MEMBERSHIP_URL": url},
		func(c *targets.Config) { c.WithClock(func() time.Time { return now }) })
	expect := func(when, want string) {
		t.Helper()
		now = now.Add(time.Second)
		c := call()
		c.SendBefore = now.Add(time.Hour)
		if a := attempt(t, ts, c, maxWait); a.Kind != ledger.AnswerFresh || *caller != want {
			t.Errorf("%s: %+v, called by %q, want %q", when, a, *caller, want)
		}
	}
	expect("at first", "first")
	cert, key = clients.issue("second")
	write("cert", cert)
	expect("with another's key", "first")
	write("key", key)
	expect("renewed", "second")
	write("ca", "hush")
	expect("with an authority that cannot be read", "second")
}

func TestCertificatesThatAreNoneEndTheStart(t *testing.T) {
	a := newIssuer(t, "a")
	cert, _ := a.issue("one")
	_, other := a.issue("two")
	for name, tc := range map[string]struct {
		config jobs.TLS
		env    env
	}{
		"another's key":        {jobs.TLS{Cert: jobs.Secret{Env: "CERT"}, Key: jobs.Secret{Env: "KEY"}}, env{"CERT": cert, "KEY": other}},
		"no certificate":       {jobs.TLS{CA: jobs.Secret{Env: "CA"}}, env{"CA": "hush"}},
		"a broken one":         {jobs.TLS{CA: jobs.Secret{Env: "CA"}}, env{"CA": "-----BEGIN CERTIFICATE-----\naHVzaA==\n-----END CERTIFICATE-----\n"}},
		"a certificate as key": {jobs.TLS{Cert: jobs.Secret{Env: "CERT"}, Key: jobs.Secret{Env: "KEY"}}, env{"CERT": cert, "KEY": cert}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.env["MEMBERSHIP_URL"] = nobody
			_, err := targets.New(targets.Config{Registry: registry(t, jobs.Target{TLS: tc.config}), Lookup: tc.env.lookup})
			if err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "aHVz") {
				t.Errorf("error %v", err)
			}
		})
	}
}
