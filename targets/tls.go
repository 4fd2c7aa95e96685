package targets

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/cronce/cronce/jobs"
)

// ownTLS makes the connections of a target that has certificates of its own. A
// connection is made with the files as they are then; those that are open with the
// former ones are used until they have been idle.
type ownTLS struct {
	base  *http.Transport
	files []*source // ca, cert, key; nil: none

	mu    sync.Mutex
	texts []string // of which made was made
	made  *http.Transport
}

// ownTLS reads the target's files; nil where it has none.
func (r *resolver) ownTLS(base *http.Transport) *ownTLS {
	config := r.entry.TLS
	if config == (jobs.TLS{}) {
		return nil
	}
	o := &ownTLS{base: base}
	read := true
	for _, f := range []struct {
		name   string
		secret jobs.Secret
	}{{"ca", config.CA}, {"cert", config.Cert}, {"key", config.Key}} {
		var s *source
		if f.secret != (jobs.Secret{}) {
			s = r.sourceBy(f.name, f.secret, config.Read)
			read = read && s.value != ""
		}
		o.files = append(o.files, s)
	}
	if !read {
		return o // said already
	}
	if _, err := o.transport(); err != nil {
		r.note(bad(jobs.CodeBadSecret, "tls: %s", err))
	}
	return o
}

// transport is one with the files as they are. While they do not fit together, as
// in the middle of a rotation, it is the last one that did.
func (o *ownTLS) transport() (*http.Transport, error) {
	texts := make([]string, len(o.files))
	for i, s := range o.files {
		if s != nil {
			texts[i], _ = s.get() // the last value where the file cannot be read
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made != nil && slices.Equal(texts, o.texts) {
		return o.made, nil
	}
	config, err := tlsConfig(o.base.TLSClientConfig, texts)
	if err != nil {
		if o.made != nil {
			return o.made, nil
		}
		return nil, err
	}
	former := o.made
	o.made, o.texts = o.base.Clone(), texts
	o.made.TLSClientConfig = config
	if former != nil {
		former.CloseIdleConnections()
	}
	return o.made, nil
}

func tlsConfig(base *tls.Config, texts []string) (*tls.Config, error) {
	config := base.Clone()
	ca, cert, key := texts[0], texts[1], texts[2]
	if ca != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, errors.New("ca holds no certificate that can be read")
		}
	}
	if cert != "" {
		pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil {
			return nil, errors.New("cert and key cannot be read, or do not belong together")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (o *ownTLS) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made != nil {
		o.made.CloseIdleConnections()
	}
}

// transportOf is what makes a target's connections.
func (t *Targets) transportOf(to *target) (*http.Transport, error) {
	if to.tls == nil {
		return t.transport, nil
	}
	return to.tls.transport()
}
