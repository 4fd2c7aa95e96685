package mail_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
	"github.com/cronce/cronce/notify/mail"
)

// post is a mail server that keeps what it takes.
type post struct {
	mu       sync.Mutex
	messages []string
	to       []string
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

// serve starts a server, with TLS from the first byte or by STARTTLS.
func serve(t *testing.T, implicit bool) (p *post, address string, roots *x509.CertPool) {
	t.Helper()
	p = &post{}
	server := smtp.NewServer(p)
	server.Domain, server.ReadTimeout, server.WriteTimeout = "localhost", 10*time.Second, 10*time.Second
	certificate, roots := certify(t)
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if implicit {
		l = tls.NewListener(l, server.TLSConfig)
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

// channel is a caller for one channel whose server is at a URL; dial leads every name
// to the address.
func channel(t *testing.T, url, address string, roots *x509.CertPool) (*mail.Caller, error) {
	t.Helper()
	reg, err := jobs.NewRegistry(jobs.Name("acme"),
		jobs.Channel{Name: "mail", Type: jobs.ChannelEmail, SMTP: jobs.Secret{Env: "SMTP_URL"}, To: []string{"ops@example.com", "dev@example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	return mail.New(mail.Config{
		Registry: reg, RootCAs: roots, Lookup: func(string) (string, bool) { return url, true },
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	})
}

func call(t *testing.T) executor.Call {
	t.Helper()
	i := ledger.Incident{ID: 7, JobID: "close-books", Cause: ledger.CauseDead, Reason: ledger.Exhausted, Error: "HTTP 503\r\nBcc: evil@example.com", Count: 1}
	c := jobs.Channel{Name: "mail", Type: jobs.ChannelEmail, To: []string{"ops@example.com", "dev@example.com"}}
	id := "notify-mail@2026-11-22T10:00:00Z~i7.1-opened"
	frozen, err := notify.CallOf(notify.NewMessage("acme", "https://cronce.example.com", notify.Opened, i, time.Now()), c, id)
	if err != nil {
		t.Fatal(err)
	}
	return executor.Call{Registry: "acme", Work: ledger.Work{RunID: id, JobID: "notify-mail", ScheduledAt: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Call: frozen}}
}

func TestAMessageArrivesWhole(t *testing.T) {
	for name, implicit := range map[string]bool{"smtp": false, "smtps": true} {
		t.Run(name, func(t *testing.T) {
			p, address, roots := serve(t, implicit)
			_, port, _ := net.SplitHostPort(address)
			c, err := channel(t, name+"://cronce:s3cret@mail.test:"+port, address, roots)
			if err != nil {
				t.Fatal(err)
			}
			if !c.Has("notify:mail") || c.Has("notify:other") {
				t.Error("the caller does not know its channels")
			}
			for range 2 { // the answer of the first was lost
				if a := c.Call(t.Context(), call(t)); a.Kind != ledger.Fresh {
					t.Fatalf("%+v", a)
				}
			}
			if strings.Join(p.to[:2], " ") != "ops@example.com dev@example.com" {
				t.Errorf("to %q", p.to)
			}
			var ids []string
			for _, text := range p.messages {
				m, err := netmail.ReadMessage(strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, m.Header.Get("Message-ID"))
				if m.Header.Get("Bcc") != "" || !strings.Contains(m.Header.Get("Subject"), "close-books: dead runs (exhausted)") || m.Header.Get("References") == "" {
					t.Errorf("header %v", m.Header)
				}
				if !strings.Contains(text, "cronce incidents ack 7") {
					t.Errorf("message:\n%s", text)
				}
			}
			if len(ids) != 2 || ids[0] != ids[1] || ids[0] == "" {
				t.Errorf("message IDs %q, want one", ids)
			}
		})
	}
}

func TestWhatAServerDoesNotTakeIsSaidWithoutItsWords(t *testing.T) {
	for name, c := range map[string]struct {
		url    string
		refuse error
		roots  bool
		kind   ledger.Answer
	}{
		"a recipient that it does not know": {"smtp://cronce:s3cret@mail.test", &smtp.SMTPError{Code: 550, Message: "no s3cret here"}, true, ledger.Refused},
		"a mailbox that is full now":        {"smtp://cronce:s3cret@mail.test", &smtp.SMTPError{Code: 452, Message: "full of s3cret"}, true, ledger.Failed},
		"a wrong password":                  {"smtp://cronce:wr0ng@mail.test", nil, true, ledger.Failed},
		"no login":                          {"smtp://mail.test", nil, true, ledger.Failed},
		"a certificate of nobody":           {"smtp://cronce:s3cret@mail.test", nil, false, ledger.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			p, address, roots := serve(t, false)
			p.refuse = c.refuse
			if !c.roots {
				roots = nil
			}
			caller, err := channel(t, c.url, address, roots)
			if err != nil {
				t.Fatal(err)
			}
			a := caller.Call(t.Context(), call(t))
			if a.Kind != c.kind && !(name == "no login" && a.Kind == ledger.Refused) || a.Error == "" || strings.Contains(a.Error, "s3cret") || strings.Contains(a.Error, "wr0ng") {
				t.Errorf("%+v, want %s", a, c.kind)
			}
			if len(p.messages) > 0 {
				t.Errorf("messages %q", p.messages)
			}
		})
	}
}

func TestAServersAddressIsCheckedAndNotShown(t *testing.T) {
	for _, url := range []string{"", "s3cret", "http://u:s3cret@h", "smtp://u:s3cret@h:99999", "smtp://u:s3cret@h/path", "smtp://u:s3cret@h?x=1", "smtp://u:s3cret@"} {
		_, err := channel(t, url, "", nil)
		var problems jobs.Problems
		if !errors.As(err, &problems) || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "notifications[0].smtp") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// A row that was changed by hand is no message.
func TestABodyThatIsNoMessageIsRefused(t *testing.T) {
	_, address, roots := serve(t, false)
	caller, err := channel(t, "smtp://cronce:s3cret@mail.test", address, roots)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`[`, `{"to":["a b"]}`, `{"to":[]}`} {
		c := call(t)
		c.Call.Body = json.RawMessage(body)
		if a := caller.Call(t.Context(), c); a.Kind != ledger.Refused && a.Kind != ledger.Failed {
			t.Errorf("%s: %+v", body, a)
		}
	}
}
