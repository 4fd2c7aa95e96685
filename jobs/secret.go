package jobs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cronce/cronce/internal/plaintext"
)

// Secret is a reference to a secret. At most one field is set. The zero Secret refers
// to none.
type Secret struct {
	// Env is the environment variable that holds the secret. In a Lambda, the variable
	// may hold a reference to AWS Secrets Manager or SSM instead.
	Env string
	// File is the absolute path of the file that holds the secret, such as a projected
	// Kubernetes token. The file is read again while the process runs.
	File string
}

// String returns the place of the secret in words, such as "the file /run/token".
func (s Secret) String() string {
	if s.File != "" {
		return "the file " + s.File
	}
	return "the environment variable " + s.Env
}

// maxSecret bounds a secret's file.
const maxSecret = 64 << 10

// Read returns the secret. A line break at the end of a file is not a part of it.
// Errors are of type Problem and never contain a value.
func (s Secret) Read(lookup func(string) (string, bool)) (string, error) {
	if s.File != "" {
		return s.readFile()
	}
	switch value, set := lookup(s.Env); {
	case !set:
		return "", problemOf(CodeUnsetVariable, "%s is not set", s)
	case value == "":
		return "", problemOf(CodeUnsetVariable, "%s is empty", s)
	default:
		return value, nil
	}
}

// readFile reads the secret from its file. A pipe or a device is refused: to read it could block.
func (s Secret) readFile() (string, error) {
	f, err := os.Open(s.File)
	if err != nil {
		return "", s.unreadable(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return "", problemOf(codeSecretFile, "%s is not a regular file", s)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return "", s.unreadable(err)
	case len(text) > maxSecret:
		return "", problemOf(codeSecretFile, "%s has more than %d bytes; a secret is shorter", s, maxSecret)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if value == "" {
		return "", problemOf(codeSecretFile, "%s is empty", s)
	}
	return value, nil
}

func (s Secret) unreadable(err error) error {
	why := "it cannot be read"
	var path *os.PathError
	if errors.As(err, &path) {
		why = path.Err.Error()
	}
	return problemOf(codeSecretFile, "%s: %s; it must exist and be readable by this process", s, why)
}

func problemOf(code, format string, args ...any) error {
	return Problem{Code: code, Message: fmt.Sprintf(format, args...)}
}

// checkSecret never shows a value: users sometimes paste the secret itself into the field.
func (d *draft) checkSecret(path string, f authField) {
	switch s := f.secret; {
	case s == Secret{}:
		d.Add(path, codeMissingField,
			"%s is missing; set it to { env: NAME } or { file: /PATH }, the variable or file that holds %s", f.name, f.holds)
	case s.Env != "" && s.File != "":
		d.Add(path, codeNeedlessField, "%s has both env and file; keep one", f.name)
	case s.Env != "":
		d.checkVariable(path+".env", f.name+".env", s.Env, "the variable that holds "+f.holds)
	case !filepath.IsAbs(s.File) && !strings.HasPrefix(s.File, "/") || strings.ContainsFunc(s.File, control) || len(s.File) > 4096:
		d.Add(path+".file", codeBadPath,
			"%s.file must be the absolute path of the file that holds %s, e.g. /run/secrets/token, not its content (not shown: it may be a secret)",
			f.name, f.holds)
	}
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// bad returns what is wrong with a secret's value, or "".
func (f form) bad(value string) string {
	switch f {
	case formKey:
		if !strings.Contains(value, "-----BEGIN PRIVATE KEY-----") {
			return "holds no private key in PEM (PKCS #8); cronce keys generate makes one"
		}
	case formCertificate:
		return pemForm(value, "CERTIFICATE")
	case formPrivateKey:
		return pemForm(value, "PRIVATE KEY")
	case formField:
		if !plaintext.VisibleASCII(strings.ReplaceAll(value, " ", "")) || strings.TrimSpace(value) != value {
			return "has line breaks, blanks at its ends, control or other characters that a header field cannot have, perhaps a trailing newline"
		}
	case formUser:
		if strings.Contains(value, ":") {
			return "has a colon, which basic authentication cannot send in a user name"
		}
		return formToken.bad(value)
	default:
		if !plaintext.VisibleASCII(value) {
			return "has white space, control or other characters that a secret cannot have, perhaps a trailing newline"
		}
	}
	return ""
}

// Reference returns the secret in a field, which is named as in the registry file, such
// as "token" or "headers.X-Api-Key". It returns the zero Secret for other names.
func (a Auth) Reference(name string) Secret {
	for _, f := range a.secrets() {
		if f.name == name {
			return f.secret
		}
	}
	return Secret{}
}

// Read returns the value of the secret in a field, named as for Reference, and checks
// its form. Errors are of type Problem and never contain a value.
func (a Auth) Read(name string, lookup func(string) (string, bool)) (string, error) {
	for _, f := range a.secrets() {
		if f.name == name {
			return f.read(lookup)
		}
	}
	return "", problemOf(codeMissingField, "%s is not a secret of type: %s", name, a.Type)
}

func (f authField) read(lookup func(string) (string, bool)) (string, error) {
	value, err := f.secret.Read(lookup)
	if err != nil {
		return "", err
	}
	if why := f.form.bad(value); why != "" {
		return "", problemOf(CodeBadSecret, "%s %s (its value is not shown)", f.secret, why)
	}
	return value, nil
}
