package jobs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"

	"github.com/cronce/cronce/jobs/internal/field"
)

// MaxFileSize is the maximum size of a registry file, in bytes.
const MaxFileSize = field.MaxFileSize

// Load reads a registry file in YAML or JSON. The error is a Problems with everything
// that is wrong with the file, by line and column. Load does not read the environment;
// CheckEnv does.
func Load(path string) (*Registry, error) {
	data, problem := read(path)
	if problem != nil {
		problem.File = path
		return nil, Problems{*problem}
	}
	return Parse(path, data)
}

// read reads a registry file. It has a maximum, so that a wrong path cannot fill the memory.
func read(path string) ([]byte, *Problem) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(err)
	}
	if info.IsDir() {
		return nil, &Problem{Code: codeFile, Message: "this is a directory; name the registry file in it"}
	}
	if info.Size() > MaxFileSize {
		return nil, tooBig(fmt.Sprintf("the file has %d bytes", info.Size()))
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1)) // a pipe has no size
	if err != nil {
		return nil, unreadable(err)
	}
	return data, nil
}

func unreadable(err error) *Problem {
	message := fmt.Sprintf("the registry file cannot be read: %v", errors.Unwrap(err))
	if errors.Is(err, fs.ErrNotExist) {
		message = "registry file not found; give its path with --config or CRONCE_CONFIG"
	}
	return &Problem{Code: codeFile, Message: message}
}

func tooBig(what string) *Problem {
	return &Problem{Code: field.FileTooBig, Message: field.TooBig(what)}
}

// Parse is like Load for the content of a file; file is its name in Problems.
func Parse(file string, data []byte) (*Registry, error) {
	d, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	return d.build()
}

// parse reads the file's entries; its error is that of a file that has none.
func parse(file string, data []byte) (*draft, error) {
	doc := &document{draft: &draft{report: newReport(file, field.Places{})}}
	if !field.Decode(doc.Report, data, doc) {
		return nil, doc.err()
	}
	Name(doc.name).enter(doc.draft)
	sort.Slice(doc.targets, func(i, k int) bool { return doc.targets[i].Name < doc.targets[k].Name })
	return doc.draft, nil
}
