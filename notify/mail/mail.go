// Package mail delivers notifications by email: it makes the calls of the channels of
// type email, each of which is one message.
package mail

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/hosts"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
)

// Config configures a Caller. Registry and Lookup are required.
type Config struct {
	Registry *jobs.Registry
	Lookup   func(string) (string, bool) // reads an environment variable, as os.LookupEnv
	// Dial opens connections; default that of net.Dialer.
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	RootCAs *x509.CertPool // to verify the servers' certificates; default the system's
}

// Caller is an executor.Caller that sends messages. It is safe for concurrent use.
type Caller struct {
	Config
	secrets map[string]jobs.Secret // where the server's address is, by target
}

var _ executor.Caller = (*Caller)(nil)

// New returns a Caller. It returns an error if the address of a mail server cannot be
// read; no error shows an address.
func New(c Config) (*Caller, error) {
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	m := &Caller{Config: c, secrets: map[string]jobs.Secret{}}
	var problems jobs.Problems
	for i, channel := range c.Registry.Channels() {
		if channel.Type != jobs.ChannelEmail {
			continue
		}
		m.secrets[channel.Target()] = channel.SMTP
		if _, err := m.server(channel.SMTP); err != nil {
			problems = append(problems, c.Registry.ChannelProblem(i, "smtp", err))
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return m, nil
}

// Has reports whether calls to a target are emails.
func (m *Caller) Has(target string) bool {
	_, has := m.secrets[target]
	return has
}

// server is a mail server's address.
type server struct {
	host, user, password string
	port                 int
	tls                  bool // from the first byte, instead of by STARTTLS
}

var errAddress = errors.New("must be smtp://USER:PASSWORD@HOST:587 or smtps://USER:PASSWORD@HOST:465 (its value is not shown)")

// server reads the address anew, since a file may have changed.
func (m *Caller) server(from jobs.Secret) (server, error) {
	text, err := from.Read(m.Lookup)
	if err != nil {
		return server{}, err
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || !hosts.Valid(u.Hostname()) || !hosts.ValidPort(u.Port()) ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return server{}, fmt.Errorf("%s %w", from, errAddress)
	}
	s := server{host: u.Hostname(), tls: u.Scheme == "smtps", user: u.User.Username(), port: 587}
	s.password, _ = u.User.Password()
	if s.tls {
		s.port = 465
	}
	if port := u.Port(); port != "" {
		s.port, _ = strconv.Atoi(port) // a valid port
	}
	return s, nil
}

// Call sends one message. Its Message-ID follows from the run's ID. So a message that is
// sent again, because the answer was lost, is the same message to a mailbox.
func (m *Caller) Call(ctx context.Context, c executor.Call) executor.Answer {
	var body notify.Email
	if err := json.Unmarshal(c.Call.Body, &body); err != nil {
		return refused("the notification cannot be read")
	}
	s, err := m.server(m.secrets[c.Call.Target])
	if err != nil {
		return executor.Answer{
			Unsent: true, Error: err.Error(), RetryAfter: 30 * time.Second,
			WaitReason: ledger.WaitReason{Code: ledger.WaitNoToken, Text: err.Error()},
		}
	}
	message, err := compose(body, c)
	if err != nil {
		return refused("the message has an address that no server takes")
	}
	client, err := m.client(s)
	if err != nil {
		return refused("the server's address is not usable")
	}
	if err := client.DialAndSendWithContext(ctx, message); err != nil {
		return failed(ctx, err)
	}
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 250}
}

func compose(body notify.Email, c executor.Call) (*gomail.Msg, error) {
	message := gomail.NewMsg()
	host, err := os.Hostname()
	if err != nil || !hosts.Valid(host) {
		host = "localhost"
	}
	from := body.From
	if from == "" {
		from = "cronce@" + host
	}
	if err := errors.Join(message.FromFormat("cronce", from), message.To(body.To...)); err != nil {
		return nil, err
	}
	message.Subject(oneLine(body.Subject))
	message.SetDateWithValue(c.ScheduledAt)
	message.SetMessageIDWithValue(digest(c.Registry+"/"+c.RunID) + "@cronce")
	message.SetGenHeader("References", "<"+digest(body.Thread)+"@cronce>")
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(gomail.TypeTextPlain, body.Text)
	return message, nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// oneLine keeps what a target wrote from starting a header field.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}

// client requires TLS, but to this machine.
func (m *Caller) client(s server) (*gomail.Client, error) {
	config := &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12, RootCAs: m.RootCAs}
	dial, policy := m.Dial, gomail.TLSMandatory
	switch {
	case s.tls:
		policy = gomail.NoTLS // the connection has it
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			plain, err := m.Dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			secure := tls.Client(plain, config)
			if err := secure.HandshakeContext(ctx); err != nil {
				plain.Close()
				return nil, err
			}
			return secure, nil
		}
	case hosts.Loopback(s.host):
		policy = gomail.TLSOpportunistic
	}
	options := []gomail.Option{
		gomail.WithPort(s.port), gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(config), gomail.WithDialContextFunc(dial),
		gomail.WithTimeout(15 * time.Second),
	}
	if s.user != "" {
		auth := gomail.SMTPAuthAutoDiscover
		if s.tls || hosts.Loopback(s.host) {
			auth = gomail.SMTPAuthPlainNoEnc // go-mail does not see that the connection is encrypted
		}
		options = append(options, gomail.WithSMTPAuth(auth), gomail.WithUsername(s.user), gomail.WithPassword(s.password))
	}
	return gomail.NewClient(s.host, options...)
}

// failed says what is wrong in words of its own: a server may repeat what it was sent.
func failed(ctx context.Context, err error) executor.Answer {
	var send *gomail.SendError
	if !errors.As(err, &send) {
		why := "no connection to the mail server, or it refused TLS or the login"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			why = "no answer of the mail server within the attempt's time"
		}
		return executor.Answer{Kind: ledger.AnswerFailed, Error: why}
	}
	code := send.ErrorCode()
	text := fmt.Sprintf("the mail server answered %d", code)
	if code == 0 {
		text = "the connection to the mail server was lost"
	}
	if code >= 500 && !send.IsTemp() {
		return executor.Answer{Kind: ledger.AnswerRefused, Status: code, Reason: ledger.ReasonPermanent, Error: text}
	}
	return executor.Answer{Kind: ledger.AnswerFailed, Status: code, Error: text}
}

func refused(why string) executor.Answer {
	return executor.Answer{Kind: ledger.AnswerRefused, Reason: ledger.ReasonPermanent, Error: "not sent: " + why}
}
