package jobs

import "strings"

// TLS holds the certificates of connections to a target. It does not apply to
// connections to a token endpoint. The zero TLS means the system's certificate
// authorities and no client certificate.
type TLS struct {
	CA        Secret // certificate authorities in PEM, instead of the system's
	Cert, Key Secret // certificate and private key of the client, in PEM; both or none
}

func (t TLS) secrets() []authField {
	return []authField{
		{name: "ca", holds: "the certificates that verify the target's", secret: t.CA, form: formCertificate},
		{name: "cert", holds: "the client's certificate", secret: t.Cert, form: formCertificate},
		{name: "key", holds: "the client's private key", secret: t.Key, form: formPrivateKey},
	}
}

// Read returns the secret of a field ("ca", "cert" or "key") and checks its form. Errors
// are of type Problem and never contain a value.
func (t TLS) Read(name string, lookup func(string) (string, bool)) (string, error) {
	for _, f := range t.secrets() {
		if f.name == name {
			return f.read(lookup)
		}
	}
	return "", problemOf(codeMissingField, "%s is not a part of tls", name)
}

// Secrets returns the secrets that the target refers to, in a fixed order.
func (t Target) Secrets() (list []Secret) {
	for _, f := range append(t.Auth.secrets(), t.TLS.secrets()...) {
		if f.secret != (Secret{}) {
			list = append(list, f.secret)
		}
	}
	return list
}

func (d *draft) checkTLS(path string, t TLS) {
	for _, f := range t.secrets() {
		if f.secret != (Secret{}) {
			d.checkSecret(f.at(path), f)
		}
	}
	for _, half := range []struct{ name, other string }{{"cert", "key"}, {"key", "cert"}} {
		one, other := t.Cert, t.Key
		if half.name == "key" {
			one, other = other, one
		}
		if one != (Secret{}) && other == (Secret{}) {
			d.Add(path+"."+half.name, codeMissingField,
				"%s is missing beside %s; a client shows a certificate and has its key", half.other, half.name)
		}
	}
}

// pemForm says what is wrong with a text in PEM, or "".
func pemForm(value, kind string) string {
	if !strings.Contains(value, "-----BEGIN ") || !strings.Contains(value, kind+"-----") {
		return "holds no " + strings.ToLower(kind) + " in PEM"
	}
	return ""
}
