package mail_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
	"github.com/cronce/cronce/notify/mail"
)

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
	i := ledger.Incident{ID: 7, JobID: "close-books", Cause: ledger.IncidentDead, Reason: ledger.ReasonExhausted, Error: "HTTP 503\r\nBcc: evil@example.com", Count: 1}
	c := jobs.Channel{Name: "mail", Type: jobs.ChannelEmail, To: []string{"ops@example.com", "dev@example.com"}}
	id := "notify-mail@2026-11-22T10:00:00Z~i7.1-opened"
	frozen, err := notify.NewCall(notify.NewMessage("acme", "https://cronce.example.com", notify.Opened, i, time.Now()), c, id)
	if err != nil {
		t.Fatal(err)
	}
	return executor.Call{Registry: "acme", Work: ledger.Work{RunID: id, JobID: "notify-mail", ScheduledAt: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Call: frozen}}
}

func TestAMessageArrivesWhole(t *testing.T) {
	for name, o := range map[string]offer{"smtp": startTLS, "smtps": fromTheFirstByte} {
		t.Run(name, func(t *testing.T) {
			p, address, roots := serve(t, o)
			_, port, _ := net.SplitHostPort(address)
			c, err := channel(t, name+"://cronce:s3cret@mail.test:"+port, address, roots)
			if err != nil {
				t.Fatal(err)
			}
			if !c.Has("notify:mail") || c.Has("notify:other") {
				t.Error("the caller does not know its channels")
			}
			for range 2 { // the answer of the first was lost
				if a := c.Call(t.Context(), call(t)); a.Kind != ledger.AnswerFresh {
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
		kind   ledger.AnswerKind
	}{
		"a recipient that it does not know": {"smtp://cronce:s3cret@mail.test", &smtp.SMTPError{Code: 550, Message: "no s3cret here"}, true, ledger.AnswerRefused},
		"a mailbox that is full now":        {"smtp://cronce:s3cret@mail.test", &smtp.SMTPError{Code: 452, Message: "full of s3cret"}, true, ledger.AnswerFailed},
		"a wrong password":                  {"smtp://cronce:wr0ng@mail.test", nil, true, ledger.AnswerFailed},
		"no login":                          {"smtp://mail.test", nil, true, ledger.AnswerFailed},
		"a certificate of nobody":           {"smtp://cronce:s3cret@mail.test", nil, false, ledger.AnswerFailed},
	} {
		t.Run(name, func(t *testing.T) {
			p, address, roots := serve(t, startTLS)
			p.refuse = c.refuse
			if !c.roots {
				roots = nil
			}
			caller, err := channel(t, c.url, address, roots)
			if err != nil {
				t.Fatal(err)
			}
			a := caller.Call(t.Context(), call(t))
			if a.Kind != c.kind && !(name == "no login" && a.Kind == ledger.AnswerRefused) || a.Error == "" || strings.Contains(a.Error, "s3cret") || strings.Contains(a.Error, "wr0ng") {
				t.Errorf("%+v, want %s", a, c.kind)
			}
			if len(p.messages) > 0 {
				t.Errorf("messages %q", p.messages)
			}
		})
	}
}

// Without TLS neither the password nor the message leaves this machine, whatever the
// server takes.
func TestWithoutTLSNothingIsSent(t *testing.T) {
	for _, test := range []struct {
		name, url string
		offer     offer
		sent      bool
	}{
		{"a server without STARTTLS", "smtp://cronce:s3cret@mail.test", noTLS, false},
		{"a server without TLS, asked with smtps", "smtps://cronce:s3cret@mail.test", noTLS, false},
		{"a server with STARTTLS, asked with smtps", "smtps://cronce:s3cret@mail.test", startTLS, false},
		{"a server of another name", "smtp://cronce:s3cret@mail.example", startTLS, false},
		{"a server of another name, asked with smtps", "smtps://cronce:s3cret@mail.example", fromTheFirstByte, false},
		{"a server on this machine without TLS", "smtp://cronce:s3cret@localhost", noTLS, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, address, roots := serve(t, test.offer)
			caller, err := channel(t, test.url, address, roots)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			a := caller.Call(ctx, call(t))
			p.mu.Lock()
			defer p.mu.Unlock()
			if sent := a.Kind == ledger.AnswerFresh; sent != test.sent || len(p.messages) > 0 != sent || p.logins > 0 != sent {
				t.Errorf("%+v; %d logins, %d messages", a, p.logins, len(p.messages))
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

// A row that was changed by hand is not a valid message.
func TestABodyThatIsNoMessageIsRefused(t *testing.T) {
	_, address, roots := serve(t, startTLS)
	caller, err := channel(t, "smtp://cronce:s3cret@mail.test", address, roots)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`[`, `{"to":["a b"]}`, `{"to":[]}`} {
		c := call(t)
		c.Call.Body = json.RawMessage(body)
		if a := caller.Call(t.Context(), c); a.Kind != ledger.AnswerRefused && a.Kind != ledger.AnswerFailed {
			t.Errorf("%s: %+v", body, a)
		}
	}
}
