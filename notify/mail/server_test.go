package mail_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// post is a mail server that keeps what it takes.
type post struct {
	mu       sync.Mutex
	messages []string
	to       []string
	logins   int
	refuse   error // what RCPT is answered; nil: accepted
}

func (p *post) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{post: p}, nil }

type session struct {
	*post
	known bool
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.logins++
		if user != "cronce" || password != "s3cret" {
			return errors.New("no such user: s3cret-looking")
		}
		s.known = true
		return nil
	}), nil
}

func (s *session) Mail(string, *smtp.MailOptions) error {
	if !s.known {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = append(s.to, to)
	return s.refuse
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, string(text))
	return err
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// offer is how a server offers TLS.
type offer int

const (
	startTLS offer = iota
	fromTheFirstByte
	noTLS // it takes a login all the same
)

// serve starts a server.
func serve(t *testing.T, o offer) (p *post, address string, roots *x509.CertPool) {
	t.Helper()
	p = &post{}
	server := smtp.NewServer(p)
	server.Domain, server.ReadTimeout, server.WriteTimeout = "localhost", 10*time.Second, 10*time.Second
	certificate, roots := certify(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	switch config := (&tls.Config{Certificates: []tls.Certificate{certificate}}); o {
	case startTLS:
		server.TLSConfig = config
	case fromTheFirstByte:
		l = tls.NewListener(l, config)
	case noTLS:
		server.AllowInsecureAuth = true
	}
	var group sync.WaitGroup
	group.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { server.Close(); group.Wait() })
	return p, l.Addr().String(), roots
}

// certify makes a certificate for mail.test and 127.0.0.1.
func certify(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"mail.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, &form, &form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
