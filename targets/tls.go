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
// connection is made with the files as they are then.
type ownTLS struct {
	base  func() *http.Transport
	files []*source // ca, cert, key; nil: none

	mu    sync.Mutex
	texts []string // of which made was made
	made  *connections
}

// ownTLS reads the target's files; nil where it has none.
func (r *resolver) ownTLS(base func() *http.Transport) *ownTLS {
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
	if _, err := o.calls(); err != nil {
		r.note(bad(jobs.CodeBadSecret, "tls: %s", err))
	}
	return o
}

// calls returns connections with the files as they are. While they do not fit together, as
// in the middle of a rotation, they are the last ones that did.
func (o *ownTLS) calls() (*connections, error) {
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
	config, err := tlsConfig(o.base().TLSClientConfig, texts)
	if err != nil {
		if o.made != nil {
			return o.made, nil
		}
		return nil, err
	}
	former := o.made
	o.made, o.texts = &connections{open: func() *http.Transport {
		t := o.base()
		t.TLSClientConfig = config
		return t
	}}, texts
	if former != nil {
		former.close()
	}
	return o.made, nil
}

// tlsConfig returns the configuration with the target's own certificates. Its errors do not repeat the
// files.
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
		o.made.close()
	}
}

// callsTo returns the connections to a target.
func (t *Targets) callsTo(to *target) (*connections, error) {
	if to.tls == nil {
		return t.calls, nil
	}
	return to.tls.calls()
}
