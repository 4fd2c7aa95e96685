package targets

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

// maxList is how large one page of a list may be.
const maxList = 32 << 20

// pageOf returns the address of a page of a list. It must be of the target's own origin: the
// call has the target's credentials.
func (to *target) pageOf(page string) (*url.URL, error) {
	u, err := url.Parse(page)
	switch {
	case err != nil || u.Scheme != to.base.Scheme || u.Host != to.base.Host || u.User != nil:
		return nil, fmt.Errorf("the list's next page %.200q is not of %s://%s", page, to.base.Scheme, to.base.Host)
	case u.Fragment != "":
		u.Fragment = ""
	}
	return u, nil
}

// page is a page of a list.
type page struct {
	body         []byte // if it is whole
	cut, tooLong bool
	next         string
}

// readList reads the body of a list, and where its next page is.
func (reply) readList(res *http.Response, at *url.URL) (p page) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxList+1))
	switch {
	case err != nil:
		p.cut = true
	case len(body) > maxList:
		p.tooLong = true
	default:
		p.body = body
	}
	if next := nextLink(res.Header.Values("Link")); next != "" {
		if u, err := at.Parse(next); err == nil {
			next = u.String()
		}
		p.next = next
	}
	return p
}

// of completes the answer to a call for a list.
func (p page) of(a executor.Answer) executor.Answer {
	switch {
	case a.Kind != ledger.AnswerFresh && a.Kind != ledger.AnswerReplayed:
	case p.tooLong:
		a.Kind, a.Reason = ledger.AnswerRefused, ledger.ReasonPermanent
		a.Error = fmt.Sprintf("a page of the list has more than %d MiB; let the target answer with pages", maxList>>20)
	case p.cut:
		a.Kind, a.Error = ledger.AnswerUnknown, "the list broke off"
	}
	a.Body, a.Next = string(p.body), p.next
	return a
}

// nextLink returns the target of the link whose relation is next (RFC 8288); "": there is none.
func nextLink(fields []string) string {
	for _, field := range fields {
		for field != "" {
			_, rest, found := strings.Cut(field, "<")
			target, rest, closed := strings.Cut(rest, ">")
			if !found || !closed {
				break
			}
			params, _, _ := strings.Cut(rest, "<")
			if hasNext(params) {
				return target
			}
			field = rest
		}
	}
	return ""
}

// hasNext reports whether a link's parameters have rel=next.
func hasNext(params string) bool {
	for param := range strings.FieldsFuncSeq(params, func(c rune) bool { return c == ';' || c == ',' }) {
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for rel := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"`)) {
			if strings.EqualFold(rel, "next") {
				return true
			}
		}
	}
	return false
}
