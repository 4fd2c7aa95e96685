package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// notice says that an action was done, on the page to which the action redirects. It lives in a cookie for noticeFor
// and is shown on that page's address only.
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

// noticeOf returns the notice for the page that a request asks for; nil for none. It drops a link that leads to no
// action: someone who can set a cookie for this host must not be able to put a link to another place on the page.
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

// setCookie sets a cookie that scripts cannot read and that requests from other sites do not carry.
func setCookie(w http.ResponseWriter, name, value string, keep time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(keep / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}
