package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/cronce/cronce/internal/operations"
)

// foundOnPage is the maximum number of results of a search.
const foundOnPage = 100

// findView is the page /find, for a text that may name several things.
type findView struct {
	Query string
	Found []foundThing
	More  int
	Near  string // a sentence
}

type foundThing struct {
	operations.Found
	Link string
}

// find is the page /find. It redirects to the page of what a text names, or lists what it may name. It is no page of
// New's map, because it may redirect.
func (d *Dashboard) find(w http.ResponseWriter, r *http.Request) {
	query := strings.TrimSpace(r.URL.Query().Get("q"))
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	list, near, err := d.Operations.Find(ctx, query)
	if err == nil && len(list) == 1 { // a run ID from a log leads to its run at once
		http.Redirect(w, r, foundPath(list[0]), http.StatusSeeOther)
		return
	}
	d.serve(w, r, func(*http.Request) (view, error) {
		v := findView{Query: query, Near: strings.Replace(strings.TrimPrefix(near, "; "), "did", "Did", 1), More: max(len(list)-foundOnPage, 0)}
		for _, f := range list[:min(len(list), foundOnPage)] {
			v.Found = append(v.Found, foundThing{f, foundPath(f)})
		}
		out := view{Template: "find", Title: "Find " + query, Data: v, Still: true}
		if len(list) == 0 && query != "" {
			out.Status = http.StatusNotFound
		}
		return out, err
	})
}

// foundPath returns the address of the page of a thing that was found.
func foundPath(f operations.Found) string {
	switch f.Kind {
	case operations.FoundRun:
		return runPath(f.Name)
	case operations.FoundTime:
		return jobPath(f.Name) + "?at=" + url.QueryEscape(f.At)
	case operations.FoundOwner, operations.FoundLabel:
		return "/jobs?" + url.Values{string(f.Kind): {f.Name}}.Encode()
	case operations.FoundTarget:
		return targetPath(f.Name)
	}
	return jobPath(f.Name)
}
