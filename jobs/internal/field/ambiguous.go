package field

import (
	"regexp"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

var (
	// numberLike matches what a version of YAML takes for a number.
	numberLike = regexp.MustCompile(`^[-+]?(0[xob][0-9A-Fa-f_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?)$`)
	// clearNumber matches what each version takes for the same number, and JSON mostly too.
	clearNumber = regexp.MustCompile(`^(-?((0|[1-9][0-9]*)(\.[0-9]*([eE][-+][0-9]+)?)?|\.[0-9]+([eE][-+][0-9]+)?)|0x[0-9A-Fa-f]+)$`)
	// wordOfBool matches what YAML 1.1 takes for true or false, and YAML 1.2 for a text.
	wordOfBool = regexp.MustCompile(`^(y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF)$`)
)

// ambiguous refuses a value without quotes that programs read differently: 01234 as 668,
// 1234 or a text, 1e3 as a number or a text, no as false or a text. A whole number with
// more digits than 64 bits have is one too. It reports whether it did.
func (d *decoder) ambiguous(path string, n ast.Node) bool {
	tk := n.GetToken()
	if tk == nil || tk.Type == token.DoubleQuoteType || tk.Type == token.SingleQuoteType {
		return false
	}
	_, isText := n.(*ast.StringNode)
	written := tk.Value
	switch {
	case isText && wordOfBool.MatchString(written):
		d.Add(path, Ambiguous, `%s is ambiguous: some programs read it as true or false; write true or false, or "%s" with quotes for a string`,
			written, written)
	case !numberLike.MatchString(written):
		return false
	case !clearNumber.MatchString(written):
		d.Add(path, Ambiguous,
			`the number %s is ambiguous: programs read it as different values; `+
				`write "%s" with quotes for a string, or a number such as 1234 or 0.5`, written, written)
	case isText:
		d.Add(path, Ambiguous, `the number %s has more digits than 64 bits hold; write "%s" with quotes for a string`, written, written)
	default:
		return false
	}
	return true
}
