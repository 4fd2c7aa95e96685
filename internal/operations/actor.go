package operations

import (
	"strings"

	"github.com/cronce/cronce/ledger"
)

// The maximum bytes of who acts and why, as the audit keeps them.
const (
	maxBy  = 255
	maxWhy = 1000
)

// tokenPrefix begins the names of identities that the API's tokens prove.
const tokenPrefix = "token:"

// checkActor refuses an action without who and why, which are kept in the audit, and a
// name there that only a token can prove.
func checkActor(a ledger.Actor) error {
	switch {
	case strings.TrimSpace(a.Why) == "":
		return refuse(Invalid, "an action needs a reason (why); it is kept in the ledger")
	case strings.TrimSpace(a.By) == "":
		return refuse(Invalid, "an action needs the name of the person who acts (by); it is kept in the ledger")
	case len(a.Why) > maxWhy, len(a.By) > maxBy:
		return refuse(Invalid, "the reason (why) must have at most %d bytes, the name of the person who acts (by) at most %d", maxWhy, maxBy)
	case !a.Proven && strings.HasPrefix(strings.TrimSpace(a.By), tokenPrefix):
		return refuse(Invalid,
			"the name %q would pass for the identity of a token, and no token has proved it; "+
				"give a name (by) that does not begin with %s", a.By, tokenPrefix)
	}
	if err := a.Validate(); err != nil {
		return refuse(Invalid, "%v", err)
	}
	return nil
}
