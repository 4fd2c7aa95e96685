package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cronce/cronce/internal/terminal"
)

// Asker puts questions to a person at a terminal.
type Asker struct {
	ctx   context.Context //nolint:containedctx // an asker lives for one command
	Out   io.Writer
	lines chan string
	err   error // why lines ended; read it after they are closed
}

// Asks reports whether a person can be asked: input and errors go to a terminal. Scripts and pipes get the defaults.
func (env *Env) Asks() bool { return terminal.IsInput(env.In) && terminal.Is(env.Err) }

// Asker returns an asker. Its reader ends with the input, or with the process.
func (env *Env) Asker(ctx context.Context) *Asker {
	q := &Asker{ctx: ctx, Out: env.Err, lines: make(chan string)}
	go func() {
		defer close(q.lines)
		in := bufio.NewScanner(env.In)
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

// Ask returns the answer, or the default for an empty one. An answer that check
// refuses is asked for again.
func (q *Asker) Ask(question, otherwise string, check func(string) error) (string, error) {
	for {
		fmt.Fprintf(q.Out, "%s [%s]: ", question, otherwise)
		select {
		case <-q.ctx.Done():
			fmt.Fprintln(q.Out)
			return "", q.ctx.Err()
		case answer, more := <-q.lines:
			if !more {
				fmt.Fprintln(q.Out)
				return "", errors.Join(errors.New("the input ended before all questions were answered; nothing was done"), q.err)
			}
			if answer == "" {
				answer = otherwise
			}
			err := check(answer)
			if err == nil {
				return answer, nil
			}
			fmt.Fprintln(q.Out, err)
		}
	}
}

// Confirm reports whether the answer is yes; the default is no.
func (q *Asker) Confirm(question string) (bool, error) {
	answer, err := q.Ask(question, "y/N", func(string) error { return nil })
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"), err
}
