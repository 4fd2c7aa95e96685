package targets

import (
	"errors"
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
// call has the target's credentials. The error does not quote the page: viewers read errors.
func (to *target) pageOf(page string) (*url.URL, error) {
	u, err := url.Parse(page)
	switch {
	case err != nil || u.Scheme != to.base.Scheme || u.Host != to.base.Host || u.User != nil:
		return nil, fmt.Errorf("the list's next page is not of %s://%s", to.base.Scheme, to.base.Host)
	case u.Fragment != "":
		u.Fragment = ""
	}
	return u, nil
}

// page is a page of a list.
type page struct {
	keys []string
	err  error // of the text
	body pageBody
	next string
}

// pageBody is the body of a page of a list. It notes what ends it.
type pageBody struct {
	io.Reader
	left    int64 // bytes of it that may be read
	cut     bool  // it broke off
	tooLong bool
}

func (b *pageBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.tooLong = true
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.cut = b.cut || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// readList reads the keys in the body of a list, and where its next page is.
func readList(res *http.Response, at *url.URL, each ledger.Each) (p page) {
	p.body = pageBody{Reader: res.Body, left: maxList + 1}
	p.keys, p.err = readKeys(&p.body, each)
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
	case p.body.tooLong:
		a.Kind, a.Reason = ledger.AnswerRefused, ledger.ReasonPermanent
		a.Error = fmt.Sprintf("a page of the list has more than %d MiB; let the target answer with pages", maxList>>20)
	case p.body.cut:
		a.Kind, a.Error = ledger.AnswerUnknown, "the list broke off"
	case p.err != nil:
		a.Kind, a.Error = ledger.AnswerFailed, "the list: "+p.err.Error()
	default:
		a.Keys, a.Next = p.keys, p.next
	}
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
