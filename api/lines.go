package api

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/cronce/cronce/internal/operations"
)

// lines reads NDJSON in parts.
type lines struct {
	reader *bufio.Reader
	number int
}

// part returns the next lines: as many as one transaction takes. The error is io.EOF after
// the last one.
func (l *lines) part() (part []line, err error) {
	for size := 0; len(part) < operations.MaxScheduleChanges && size < maxPart; {
		text, err := l.reader.ReadSlice('\n')
		l.number++
		size += len(text)
		if errors.Is(err, bufio.ErrBufferFull) {
			part = append(part, line{number: l.number, err: problem(413, "request_too_large",
				"the line is longer than 64 KiB; data has at most 16 KiB")})
			err = l.skip()
		} else if len(bytes.TrimSpace(text)) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			part = append(part, parseLine(l.number, text))
		}
		switch {
		case errors.Is(err, io.EOF):
			return part, err
		case err != nil:
			return part, unread(err)
		}
	}
	return part, nil
}

// skip reads to the end of a line.
func (l *lines) skip() error {
	for {
		if _, err := l.reader.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
