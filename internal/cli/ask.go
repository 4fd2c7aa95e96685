package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cronce/cronce/internal/terminal"
)

// asker puts questions to a person at a terminal.
type asker struct {
	ctx   context.Context //nolint:containedctx // an asker lives for one command
	out   io.Writer
	lines chan string
	err   error // why lines ended; read it after they are closed
}

// asks reports whether a person can be asked.
func (a *app) asks() bool { return terminal.IsInput(a.in) && terminal.Is(a.err) }

// asker returns an asker. Its reader ends with the input, or with the process.
func (a *app) asker(ctx context.Context) *asker {
	q := &asker{ctx: ctx, out: a.err, lines: make(chan string)}
	go func() {
		defer close(q.lines)
		in := bufio.NewScanner(a.in)
		for in.Scan() {
			select {
			case q.lines <- strings.TrimSpace(in.Text()):
			case <-ctx.Done():
				return
			}
		}
		q.err = in.Err()
	}()
	return q
}

// ask returns the answer, or the default for an empty one. An answer that check
// refuses is asked for again.
func (q *asker) ask(question, otherwise string, check func(string) error) (string, error) {
	for {
		fmt.Fprintf(q.out, "%s [%s]: ", question, otherwise)
		select {
		case <-q.ctx.Done():
			fmt.Fprintln(q.out)
			return "", q.ctx.Err()
		case answer, more := <-q.lines:
			if !more {
				fmt.Fprintln(q.out)
				return "", errors.Join(errors.New("the input ended before all questions were answered; nothing was done"), q.err)
			}
			if answer == "" {
				answer = otherwise
			}
			err := check(answer)
			if err == nil {
				return answer, nil
			}
			fmt.Fprintln(q.out, err)
		}
	}
}

// confirm reports whether the answer is yes; the default is no.
func (q *asker) confirm(question string) (bool, error) {
	answer, err := q.ask(question, "y/N", func(string) error { return nil })
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"), err
}
