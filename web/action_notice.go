package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// notice says on the next page that an action was done, once for that page's address.
type notice struct {
	Text string
	Undo string // what undoes it; "" for nothing
	Link string // the page of that action
}

const (
	noticeCookie = "cronce-done-"
	noticeFor    = 2 * time.Minute
	nameCookie   = "cronce-by"
	nameFor      = 90 * 24 * time.Hour
)

// keepNotice gives the browser a notice for the page at a path, and returns that
// page's address. It is in no address, so that nobody can make a page claim an action,
// and in no process, so that every replica shows it.
func keepNotice(w http.ResponseWriter, n notice, key, path string) string {
	id := key[:min(len(key), 36)]
	text, _ := json.Marshal(n) // strings
	setCookie(w, noticeCookie+id, base64.RawURLEncoding.EncodeToString(text), noticeFor)
	sign := "?"
	if strings.Contains(path, "?") {
		sign = "&"
	}
	return path + sign + "done=" + id
}

// noticeOf is the notice for the page that a request asks for; nil for none.
func noticeOf(r *http.Request) *notice {
	id := r.URL.Query().Get("done")
	if id == "" {
		return nil
	}
	c, err := r.Cookie(noticeCookie + id)
	if err != nil {
		return nil
	}
	var n notice
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || json.Unmarshal(text, &n) != nil || n.Text == "" {
		return nil
	}
	if !strings.HasPrefix(n.Link, actionsPath) {
		n.Undo, n.Link = "", ""
	}
	return &n
}

// rememberedName returns the name that the last form gave, kept by postAction where no identity is proven.
func rememberedName(r *http.Request) string {
	c, err := r.Cookie(nameCookie)
	if err != nil {
		return ""
	}
	name, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(name) > 255 {
		return ""
	}
	return string(name)
}

func setCookie(w http.ResponseWriter, name, value string, keep time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(keep / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}
