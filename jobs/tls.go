package jobs

import "strings"

// TLS is how connections to a target are made, if not by the default. It is
// for the target's own address, not for a token endpoint.
type TLS struct {
	CA        Secret // certificates, in PEM, that verify the target's; none: the system's
	Cert, Key Secret // the client's certificate and private key, in PEM; both or none
}

func (t TLS) fields() []authField {
	return []authField{
		{name: "ca", holds: "the certificates that verify the target's", secret: t.CA, form: formCertificate},
		{name: "cert", holds: "the client's certificate", secret: t.Cert, form: formCertificate},
		{name: "key", holds: "the client's private key", secret: t.Key, form: formPrivateKey},
	}
}

// Read returns the ca, cert or key, and checks its form. Errors are of type Problem.
func (t TLS) Read(name string, lookup func(string) (string, bool)) (string, error) {
	for _, f := range t.fields() {
		if f.name == name {
			return f.read(lookup)
		}
	}
	return "", secretProblem(CodeMissingField, "%s is not a part of tls", name)
}

// Secrets returns the secrets that a target refers to, in a fixed order.
func (t Target) Secrets() (list []Secret) {
	for _, f := range append(t.Auth.fields(), t.TLS.fields()...) {
		if f.secret != (Secret{}) {
			list = append(list, f.secret)
		}
	}
	return list
}

func (d *draft) checkTLS(path string, t TLS) {
	for _, f := range t.fields() {
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
			d.add(path+"."+half.name, CodeMissingField, "%s is missing beside %s; a client shows a certificate and has its key", half.other, half.name)
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
