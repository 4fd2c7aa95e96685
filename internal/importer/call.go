package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
)

// call is the HTTP request of an entry. Words may refer to variables of the source's
// environment; env holds the values that the source itself states.
type call struct {
	method   string
	url      word
	headers  []header          // references
	harmless map[string]string // taken over as they are
	data     []word            // joined by &, as curl does
	hasData  bool
	jsonType bool // the source sends Content-Type: application/json
	user     word // name:password
	hasUser  bool
	query    bool // the data belongs into the URL
	timeout  time.Duration
	ca       string
	sigv4    [2]string // region and service
	env      map[string]string
	origins  map[string]string // where variables without a value come from
}

type header struct {
	name  string
	value word
}

// endpoint is a URL, taken apart as the registry has it.
type endpoint struct {
	base, host string
	urlEnv     string // set if the source has its base URL in a variable
	path       string
}

// fieldName matches names of headers (RFC 9110, section 5.1) in the characters in use.
var fieldName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// endpoint takes the URL apart. Its errors do not repeat it.
func (c *call) endpoint() (endpoint, error) {
	if slices.ContainsFunc(c.headers, func(h header) bool { return !fieldName.MatchString(h.name) }) {
		return endpoint{}, errors.New("a header's name has characters that a name cannot have; use letters, digits, - and _")
	}
	// An unknown variable at the beginning is the base URL. Any other one is a NUL in text.
	text, urlEnv := c.url.expand(c.env)
	if urlEnv != "" && text != "" && text[0] != '/' && text[0] != '?' {
		return endpoint{}, errors.New("the URL has a variable within its host; cronce takes the whole base URL from one variable")
	}
	if strings.Contains(text, "\x00") {
		return endpoint{}, errors.New("the URL is made of variables, or of one that looks like a secret; cronce takes the base URL from one " +
			"variable, and the path is fixed")
	}
	if c.query {
		body, err := c.literalData()
		if err != nil {
			return endpoint{}, err
		}
		text = withQuery(text, body)
	}
	if urlEnv == "" && !strings.Contains(text, "://") { // as curl and wget read it
		text = "http://" + text
	}
	text, _, _ = strings.Cut(text, "#") // a fragment is never sent
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return endpoint{}, errors.New("the URL is invalid; write it as https://host/path")
	case urlEnv == "" && u.Scheme != "http" && u.Scheme != "https":
		return endpoint{}, errors.New("the URL is not http or https; write it as https://host/path")
	case urlEnv == "" && u.Hostname() == "":
		return endpoint{}, errors.New("the URL has no host; write it as https://host/path")
	case secretQuery(u.RawQuery) != "":
		return endpoint{}, fmt.Errorf("the URL's query parameter %q looks like a secret, and a registry holds none; send it as a header",
			secretQuery(u.RawQuery))
	case secretSegment(u.Host, u.Path) > 0:
		return endpoint{}, fmt.Errorf("segment %d of the URL's path looks like a secret, and a registry holds none; call it from a "+
			"service whose URL has none, or write the job by hand with the URL up to there in the target's variable "+
			"(urlEnv)", secretSegment(u.Host, u.Path))
	}
	if u.User != nil && !c.hasUser {
		password, _ := u.User.Password()
		c.user, c.hasUser = literal(u.User.Username()+":"+password), true
	}
	at := endpoint{urlEnv: urlEnv, path: u.EscapedPath()}
	if urlEnv == "" {
		at.base, at.host = u.Scheme+"://"+u.Host, u.Host
	}
	if at.path == "" {
		at.path = "/"
	}
	if u.RawQuery != "" {
		at.path += "?" + u.RawQuery
	}
	return at, nil
}

// withQuery adds a query to a URL.
func withQuery(address, query string) string {
	switch {
	case query == "":
		return address
	case strings.Contains(address, "?"):
		return address + "&" + query
	}
	return address + "?" + query
}

// literalData returns the data as curl sends it. Its text must be known, since cronce sends a fixed body.
func (c *call) literalData() (string, error) {
	var parts []string
	for _, w := range c.data {
		text, ok := w.literal(c.env)
		if !ok {
			return "", errors.New("the body is made of variables, or of one that looks like a secret; cronce sends a fixed body")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "&"), nil
}

// jsonBody returns the body as compact JSON, or "" for none.
func (c *call) jsonBody() (string, error) {
	if !c.hasData || c.query {
		return "", nil
	}
	text, err := c.literalData()
	if err != nil {
		return "", err
	}
	// value is for the search for secrets. The body itself is compacted as text, which keeps the
	// order of fields and the digits of numbers.
	var value any
	var compact bytes.Buffer
	if json.Unmarshal([]byte(text), &value) != nil || json.Compact(&compact, []byte(text)) != nil {
		return "", errors.New("the body is not JSON; cronce sends JSON bodies only")
	}
	if field := secretField(value); field != "" {
		return "", fmt.Errorf("the body's field %q looks like a secret, and a registry holds none; send it as a header", field)
	}
	return jobs.EscapePlaceholders(compact.String()), nil
}
