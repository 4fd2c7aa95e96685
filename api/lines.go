package api

import (
	"bufio"
	"errors"
	"io"

	"github.com/cronce/cronce/internal/operations"
)

// lines reads NDJSON in parts.
type lines struct {
	scanner *bufio.Scanner
	number  int
}

func newLines(body io.Reader) *lines {
	s := bufio.NewScanner(body)
	s.Buffer(make([]byte, 0, 16<<10), maxLine)
	return &lines{scanner: s}
}

// part returns the next lines: as many as one transaction takes. The error is io.EOF after
// the last one.
func (l *lines) part() (part []line, err error) {
	for size := 0; len(part) < operations.MaxScheduleChanges && size < maxPart; {
		if !l.scanner.Scan() {
			return part, l.end()
		}
		l.number++
		text := l.scanner.Bytes()
		if size += len(text); !isBlank(text) {
			part = append(part, parseLine(l.number, text))
		}
	}
	return part, nil
}

func (l *lines) end() error {
	switch err := l.scanner.Err(); {
	case err == nil:
		return io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return problem(413, "request_too_large", "a line is longer than 64 KiB; data has at most 16 KiB")
	default:
		return unread(err)
	}
}
