package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/plaintext"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// view has the name and the data of a page's template, and the values that the layout shows.
type view struct {
	Template string // a file of templates, without .html
	Title    string // without the product's name
	Section  string // the entry of the menu
	Data     any
	Status   int     // default 200
	Still    bool    // the script does not reload it when runs change
	Health   *health // nil: the page has not asked
}

// frame is the data of the layout, around that of a page.
type frame struct {
	view
	Registry, Engine, Version string
	Menu                      []menuEntry
	Notice                    *notice
	Changes                   string            // the address of the changes of runs; "" for none
	Assets                    map[string]string // name -> address
	Now                       clock
	Zone                      zoneMenu
}

type menuEntry struct {
	Name, Path, Key string
	Current         bool
}

// menu is the menu of every page. After the key g, the key of an entry opens its page.
var menu = []menuEntry{
	{Name: "Overview", Path: "/", Key: "o"}, {Name: "Jobs", Path: "/jobs", Key: "j"}, {Name: "Runs", Path: "/runs", Key: "r"},
	{Name: "Targets", Path: "/targets", Key: "t"}, {Name: "Keys", Path: "/keys", Key: "k"},
	{Name: "Processes", Path: "/processes", Key: "p"}, {Name: "Pauses", Path: "/pauses", Key: "u"}, {Name: "Audit", Path: "/audit", Key: "a"},
}

// frame puts a page into the layout. Its Changes come from the API, which is served only with actions.
func (d *Dashboard) frame(r *http.Request, v view) frame {
	f := frame{view: v, Zone: d.zoneMenu(r), Registry: d.registry().Name(), Engine: d.Engine, Version: d.Version, Assets: assetPaths,
		Now: d.clockOf(r)}
	if d.Actions {
		f.Changes = "/v1/changes"
	}
	for _, m := range menu {
		m.Current = m.Name == v.Section
		f.Menu = append(f.Menu, m)
	}
	return f
}

// pages parses the templates: a set for each page, each with the layout. New calls it, so that a mistake in a template
// panics at the start, and templates are escaped before the first request.
var pages = sync.OnceValue(func() map[string]*template.Template {
	sets := map[string]*template.Template{}
	layout := parseFile(parseFile(template.New("page").Funcs(functions), "layout.html"), "parts.html")
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err) // they are in the binary
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name != "layout" && name != "parts" {
			sets[name] = parseFile(template.Must(layout.Clone()), f.Name())
			_ = sets[name].Execute(io.Discard, nil) // escapes, then fails without data
		}
	}
	return sets
})

// lineEnds matches the line ends and indents of templates, which are for people. A browser gets a space in their place.
var lineEnds = regexp.MustCompile(`\s*\n\s*`)

// parseFile adds a file of templates. It panics if the file has a mistake: it is part of the binary, so that every
// start would fail, and every test.
func parseFile(t *template.Template, name string) *template.Template {
	text, err := templateFiles.ReadFile("templates/" + name)
	if err != nil {
		panic(err) // it is in the binary
	}
	return template.Must(t.Parse(lineEnds.ReplaceAllString(string(text), " ")))
}

// relativeTimes matches texts that change every second. They are left out of the ETag, as the script keeps them up to
// date.
var relativeTimes = regexp.MustCompile(` data-relative>[^<]*<`)

// render writes a page. A page whose content is the same has the same ETag and is answered with 304, so that a page
// which stays open costs little. It returns an error only if the template fails.
func render(w http.ResponseWriter, r *http.Request, status int, f frame) error {
	var page bytes.Buffer
	if err := pages()[f.Template].Execute(&page, f); err != nil {
		http.Error(w, "this page could not be rendered; the log of this process has the cause", http.StatusInternalServerError)
		return err
	}
	shown := []byte(plaintext.Lines(page.String())) // targets and operators may have written characters that hide or turn text
	sum := sha256.Sum256(relativeTimes.ReplaceAll(shown, nil))
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("ETag", tag)
	h.Set("Vary", "Accept-Encoding, Cookie")
	if status == http.StatusOK && r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(status)
		_, _ = w.Write(shown) // the reader has gone
		return nil
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z := gzip.NewWriter(w)
	_, _ = z.Write(shown)
	_ = z.Close()
	return nil
}

// assetPaths has the address of each asset, with a hash of its content. A browser may thus keep an asset for good, and
// a new program has new addresses.
var assetPaths = func() map[string]string {
	paths := map[string]string{}
	files, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // they are in the binary
	}
	for _, f := range files {
		paths[f.Name()] = fmt.Sprintf("/assets/%s?%s", f.Name(), assetTag(f.Name()))
	}
	return paths
}()

func assetTag(name string) string {
	content, _ := assetFiles.ReadFile("assets/" + name)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

var assetTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// serveAsset serves a file of the binary. Without the current hash in its address a browser must ask each time.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	w.Header().Set("ETag", `"`+assetTag(name)+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.RawQuery == assetTag(name) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}
