package migrations

import (
	"io"
	"io/fs"
	"strings"
)

// names puts the user's schema in a file.
func (t Target) names() *strings.Replacer { return strings.NewReplacer("{{schema}}", t.Schema) }

// rendered is a file system whose files have the user's names put in.
type rendered struct {
	fs.FS
	names *strings.Replacer
}

func (r rendered) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return renderedFile{f, strings.NewReader(r.names.Replace(string(text)))}, nil
}

type renderedFile struct {
	fs.File
	text io.Reader
}

func (f renderedFile) Read(p []byte) (int, error) { return f.text.Read(p) }
