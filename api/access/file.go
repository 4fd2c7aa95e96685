package access

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
)

// maxFile bounds an access file.
const maxFile = 1 << 20

// document is an access file as it is written.
type document struct {
	Version int `yaml:"version"`
	Tokens  []struct {
		Name string `yaml:"name"`
		Role string `yaml:"role"`
		Hash string `yaml:"hash"`
	} `yaml:"tokens"`
	OIDC *struct {
		Issuer      string `yaml:"issuer"`
		Audience    string `yaml:"audience"`
		UserClaim   string `yaml:"userClaim"`
		GroupsClaim string `yaml:"groupsClaim"`
	} `yaml:"oidc"`
	Proxy *struct {
		From         []string `yaml:"from"`
		UserHeader   string   `yaml:"userHeader"`
		GroupsHeader string   `yaml:"groupsHeader"`
	} `yaml:"proxy"`
	Grants []struct {
		Role   string   `yaml:"role"`
		Users  []string `yaml:"users"`
		Groups []string `yaml:"groups"`
	} `yaml:"grants"`
}

// rules are an access file that was found sound.
type rules struct {
	tokens []token
	oidc   *issuer
	proxy  *proxy
	grants []grant
}

type token struct {
	name string
	role Role
	hash []byte // SHA-256
}

type grant struct {
	role          Role
	users, groups []string
}

type proxy struct {
	from         []netip.Prefix
	user, groups string // header names
}

// parse reads an access file. Its errors never show a hash.
func parse(text []byte) (*rules, error) {
	var d document
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&d); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty; it needs version: 1 and tokens, oidc or proxy")
		}
		return nil, errors.New(firstLine(err))
	}
	if d.Version != 1 {
		return nil, fmt.Errorf("version %d; this program reads version: 1", d.Version)
	}
	r := &rules{}
	return r, errors.Join(r.addTokens(d), r.addGrants(d), r.addOIDC(d), r.addProxy(d), r.usable())
}

// firstLine leaves out the excerpt of the file, which may hold hashes.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func (r *rules) addTokens(d document) error {
	names := map[string]bool{}
	for i, t := range d.Tokens {
		role, err := ParseRole(t.Role)
		text, sha := strings.CutPrefix(t.Hash, "sha256:")
		hash, bad := hex.DecodeString(text)
		switch {
		case !validName(t.Name):
			return fmt.Errorf("tokens[%d]: the name must have 1 to 200 bytes of UTF-8 without control characters", i)
		case names[t.Name]:
			return fmt.Errorf("tokens[%d]: a token named %q is defined before it", i, t.Name)
		case err != nil:
			return fmt.Errorf("tokens[%d] (%s): %w", i, t.Name, err)
		case !sha || bad != nil || len(hash) != sha256.Size:
			return fmt.Errorf("tokens[%d] (%s): the hash must be sha256: and 64 hexadecimal digits; \"cronce access token\" makes one", i, t.Name)
		}
		names[t.Name] = true
		r.tokens = append(r.tokens, token{t.Name, role, hash})
	}
	return nil
}

// validName reports whether a name can be an identity: the audit and the idempotency
// keys take UTF-8 without control characters.
func validName(name string) bool {
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	return name != "" && len(name) <= 200 && utf8.ValidString(name) && !strings.ContainsFunc(name, control)
}

func (r *rules) addGrants(d document) error {
	for i, g := range d.Grants {
		role, err := ParseRole(g.Role)
		if err != nil {
			return fmt.Errorf("grants[%d]: %w", i, err)
		}
		if len(g.Users)+len(g.Groups) == 0 || slices.Contains(g.Users, "") || slices.Contains(g.Groups, "") {
			return fmt.Errorf("grants[%d]: name users or groups; an empty name is none", i)
		}
		r.grants = append(r.grants, grant{role, g.Users, g.Groups})
	}
	return nil
}

func (r *rules) addOIDC(d document) error {
	if d.OIDC == nil {
		return nil
	}
	u, err := url.Parse(d.OIDC.Issuer)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Host)) {
		return errors.New("oidc.issuer must be an https URL")
	}
	if d.OIDC.Audience == "" {
		return errors.New("oidc.audience is missing: the client ID that ID tokens are issued for")
	}
	r.oidc = newIssuer(d.OIDC.Issuer, d.OIDC.Audience, cmp.Or(d.OIDC.UserClaim, "email"), cmp.Or(d.OIDC.GroupsClaim, "groups"))
	return nil
}

func (r *rules) addProxy(d document) error {
	if d.Proxy == nil {
		return nil
	}
	p := &proxy{user: d.Proxy.UserHeader, groups: d.Proxy.GroupsHeader}
	if p.user == "" || len(d.Proxy.From) == 0 {
		return errors.New("proxy needs from (the addresses that the proxy calls from, as CIDR) and userHeader")
	}
	for _, text := range d.Proxy.From {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("proxy.from: %q is not a CIDR such as 10.1.2.0/24", text)
		}
		if prefix.Bits() == 0 {
			return fmt.Errorf("proxy.from: %s is every address, so that anybody could name themselves; give the proxy's", text)
		}
		p.from = append(p.from, prefix.Masked())
	}
	r.proxy = p
	return nil
}

// usable refuses a file by which nobody gets in.
func (r *rules) usable() error {
	switch {
	case len(r.tokens) == 0 && r.oidc == nil && r.proxy == nil:
		return errors.New("the file gives nobody access; add tokens, oidc or proxy")
	case (r.oidc != nil || r.proxy != nil) && len(r.grants) == 0:
		return errors.New("oidc and proxy need grants, which give users and groups a role; add grants")
	}
	return nil
}

// role is the greatest that a user or one of their groups is granted.
func (r *rules) role(user string, groups []string) Role {
	role := None
	for _, g := range r.grants {
		if slices.Contains(g.users, user) || slices.ContainsFunc(groups, func(name string) bool { return slices.Contains(g.groups, name) }) {
			role = max(role, g.role)
		}
	}
	return role
}

// tokenPrefix begins the name of an identity that a token proves.
const tokenPrefix = "token:"

// byToken looks all tokens through, so that the time tells nothing.
func (r *rules) byToken(text string) (Identity, bool) {
	sum := sha256.Sum256([]byte(text))
	var who Identity
	found := 0
	for _, t := range r.tokens {
		if same := subtle.ConstantTimeCompare(sum[:], t.hash); same == 1 {
			who, found = Identity{Name: tokenPrefix + t.name, Role: t.role}, 1
		}
	}
	return who, found == 1
}

func (p *proxy) trusts(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	return err == nil && slices.ContainsFunc(p.from, func(prefix netip.Prefix) bool { return prefix.Contains(at.Addr().Unmap()) })
}

// Read reads an access file.
func read(path string) (*rules, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the access file cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = errors.New("it is larger than 1 MiB")
	}
	if err != nil {
		return nil, fmt.Errorf("the access file %s cannot be read: %w", path, err)
	}
	r, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// bearer is the token that a request presents; "" for none.
func bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", nil
	}
	scheme, text, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || text == "" || len(text) > 16<<10 {
		return "", unauthorized("the Authorization field must be Bearer and a token")
	}
	return text, nil
}
