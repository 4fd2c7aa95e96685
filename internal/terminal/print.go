package terminal

import (
	"fmt"
	"io"

	"github.com/cronce/cronce/internal/plaintext"
)

// Fprintf is like fmt.Fprintf for texts from outside: each is printed on one line, without
// characters that a terminal does not show (see plaintext.Line).
func Fprintf(w io.Writer, format string, texts ...string) (int, error) {
	args := make([]any, len(texts))
	for i, text := range texts {
		args[i] = plaintext.Line(text)
	}
	return fmt.Fprintf(w, format, args...)
}
