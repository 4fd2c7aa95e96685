package idempotency

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// maxExact: every integer below it is a float64.
const maxExact = 1 << 53

// number writes a float64 as ECMAScript does, which is encoding/json's way but
// for the negative zero.
func (c *canonicalizer) number(out []byte) ([]byte, error) {
	end := bytes.IndexAny(c.text, ",]} \t\r\n")
	if end < 0 {
		end = len(c.text)
	}
	literal := string(c.take(end))
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil && -maxExact < n && n < maxExact {
		return strconv.AppendInt(out, n, 10), nil
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return nil, err
	}
	if f == 0 {
		f = 0
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	c.exact = c.exact && decimalOf(literal) == decimalOf(string(text))
	return append(out, text...), nil
}

// decimal is a number as its significant digits and a power of ten.
type decimal struct {
	negative bool
	digits   string // without zeros at either end
	exponent int    // of the last digit
}

func decimalOf(literal string) decimal {
	mantissa, power, _ := strings.Cut(strings.ToLower(literal), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent, _ := strconv.Atoi(power) // saturates; no float64 has such an exponent
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return decimal{}
	}
	return decimal{negative, short, exponent - len(fraction) + len(digits) - len(short)}
}
