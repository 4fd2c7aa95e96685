package sqlite

import "github.com/cronce/cronce/ledger"

// EncodeCall is what the columns call and body hold; see freeze.
func EncodeCall(c ledger.Call) (call, body []byte, err error) {
	text, body, err := freeze(c)
	return []byte(text), body, err
}

// DecodeCall is its inverse.
func DecodeCall(call, body []byte) (c ledger.Call, err error) {
	err = thaw(&c, call, body)
	return c, err
}
