package targets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

// wire watches one request's way out. Without a connection surely nothing was
// sent; with one, something may have been.
type wire struct {
	connected atomic.Bool
	late      atomic.Bool // a connection came when the request may not be sent any more
	trace     httptrace.ClientTrace
}

// newWire returns a wire that ends the request before anything is written if it gets a
// connection once past reports true: to connect takes time, and the transport may repeat a
// request without a body long after it sent it first. end cancels the request's context.
func newWire(past func() bool, end func()) *wire {
	w := &wire{}
	w.trace.GotConn = func(got httptrace.GotConnInfo) {
		if !past() {
			w.connected.Store(true)
			return
		}
		w.late.Store(true)
		end()
		// HTTP/1 writes the request all the same. HTTP/2 does not, and other calls share its
		// connection.
		if c, ok := got.Conn.(*tls.Conn); !ok || c.ConnectionState().NegotiatedProtocol != "h2" {
			_ = got.Conn.Close()
		}
	}
	return w
}

// broken returns the answer to a request that got no response.
func (w *wire) broken(ctx context.Context, err error) executor.Answer {
	stopped := errors.Is(ctx.Err(), context.Canceled)
	switch {
	case w.connected.Load() && stopped:
		return executor.Answer{Kind: ledger.AnswerUnknown, Error: "stopped while waiting for the answer; the call may have been carried out"}
	case w.connected.Load():
		return executor.Answer{Kind: ledger.AnswerUnknown, Error: cause(ctx, err) + "; the call may have been carried out"}
	case w.late.Load():
		return tooLate()
	case stopped:
		return unsent(ledger.WaitNotSent, "the caller stopped", 0)
	}
	return executor.Answer{Kind: ledger.AnswerFailed, Error: cause(ctx, err) + "; nothing was sent"}
}

// tooLate returns the answer to a call that would be sent past its SendUntil. The ledger's clock
// rules: it finds the run expired.
func tooLate() executor.Answer {
	return unsent(ledger.WaitNotSent, "the run's time to be sent is over", 0)
}

// cause describes a failed request in words of its own. The errors of net/http are
// not passed on: they quote the URL and the target's answer.
func cause(ctx context.Context, err error) string {
	if proxy, ok := errors.AsType[*proxyError](err); ok {
		// Only the proxy's name is looked up here, and not the target's.
		return "through the proxy " + proxy.address + ": " + causeOf(ctx, proxy.err, "its host")
	}
	return causeOf(ctx, err, "the host of the base URL")
}

// causeOf does not use the text of an unknown error, in which there may be an address or a secret.
func causeOf(ctx context.Context, err error, host string) string {
	var dns *net.DNSError
	var errno syscall.Errno
	var refused *notAllowed
	var notConnected connectError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &refused):
		return refused.why
	case errors.As(err, &notConnected):
		return notConnected.Error()
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "no answer within the attempt's time"
	case errors.As(err, &dns) && dns.IsNotFound:
		return host + " does not exist"
	case errors.As(err, &dns):
		return host + " could not be looked up"
	case certificate(err) != "":
		return "TLS: " + certificate(err)
	case errors.As(err, &alert), errors.As(err, &record):
		return "TLS: the handshake failed"
	case errors.As(err, &errno):
		return errno.Error()
	case timedOut(err):
		return "no connection in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed without an answer"
	}
	return "no valid HTTP answer"
}

// certificate says what is wrong with a target's certificate, or "".
func certificate(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var failed *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		return "the certificate is signed by an unknown authority"
	case errors.As(err, &host):
		return "the certificate is for another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not valid yet"
	case errors.As(err, &failed):
		return "the certificate is not valid"
	}
	return ""
}

func timedOut(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
