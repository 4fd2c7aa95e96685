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
	"os"
	"slices"
	"strings"

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

		Templates []string `yaml:"templates"`
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
		Hashes       []string `yaml:"hashes"`
	} `yaml:"proxy"`
	Grants []struct {
		Role   string   `yaml:"role"`
		Users  []string `yaml:"users"`
		Groups []string `yaml:"groups"`

		Templates []string `yaml:"templates"`
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

	templates []string
}

type grant struct {
	role          Role
	users, groups []string
	templates     []string
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
		hash, bad := parseHash(t.Hash)
		switch {
		case !ValidName(t.Name):
			return fmt.Errorf("tokens[%d]: the name must have %s", i, validNames)
		case names[t.Name]:
			return fmt.Errorf("tokens[%d]: a token named %q is defined before it", i, t.Name)
		case err != nil:
			return fmt.Errorf("tokens[%d] (%s): %w", i, t.Name, err)
		case bad != nil:
			return fmt.Errorf("tokens[%d] (%s): %w", i, t.Name, bad)
		}
		if err := checkTemplates(role, t.Templates); err != nil {
			return fmt.Errorf("tokens[%d] (%s): %w", i, t.Name, err)
		}
		names[t.Name] = true
		r.tokens = append(r.tokens, token{t.Name, role, hash, t.Templates})
	}
	return nil
}

// parseHash reads the SHA-256 hash of a token. Its error does not show the text, which
// may be a token.
func parseHash(text string) ([]byte, error) {
	digits, sha := strings.CutPrefix(text, "sha256:")
	hash, err := hex.DecodeString(digits)
	if !sha || err != nil || len(hash) != sha256.Size {
		return nil, errors.New("the hash must be sha256: and 64 hexadecimal digits; \"cronce access token\" makes one")
	}
	return hash, nil
}

func (r *rules) addGrants(d document) error {
	for i, g := range d.Grants {
		role, err := ParseRole(g.Role)
		if err != nil {
			return fmt.Errorf("grants[%d]: %w", i, err)
		}
		if len(g.Users)+len(g.Groups) == 0 {
			return fmt.Errorf("grants[%d]: name users or groups", i)
		}
		for _, name := range slices.Concat(g.Users, g.Groups) {
			if !ValidName(name) {
				return fmt.Errorf("grants[%d]: %+q must have %s", i, name, validNames)
			}
		}
		if err := checkTemplates(role, g.Templates); err != nil {
			return fmt.Errorf("grants[%d]: %w", i, err)
		}
		r.grants = append(r.grants, grant{role, g.Users, g.Groups, g.Templates})
	}
	return nil
}

// checkTemplates refuses a scheduler without templates, and templates of another role.
func checkTemplates(role Role, templates []string) error {
	switch {
	case role == Scheduler && (len(templates) == 0 || slices.Contains(templates, "")):
		return errors.New("the role scheduler needs templates: the IDs of the jobs with keyed whose schedules it may change")
	case role != Scheduler && len(templates) > 0:
		return fmt.Errorf("templates belong to the role scheduler; remove them from the role %s", role)
	}
	return nil
}

func (r *rules) addOIDC(d document) error {
	if d.OIDC == nil {
		return nil
	}
	if !encrypted(d.OIDC.Issuer) {
		return errors.New("oidc.issuer must be an https URL")
	}
	if d.OIDC.Audience == "" {
		return errors.New("oidc.audience is missing: the client ID that ID tokens are issued for")
	}
	r.oidc = newIssuer(d.OIDC.Issuer, d.OIDC.Audience, cmp.Or(d.OIDC.UserClaim, "email"), cmp.Or(d.OIDC.GroupsClaim, "groups"))
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

// grantedTo returns the greatest role that a user or one of their groups is granted, and
// all of their templates.
func (r *rules) grantedTo(user string, groups []string) (role Role, templates []string) {
	for _, g := range r.grants {
		if slices.Contains(g.users, user) || slices.ContainsFunc(groups, func(name string) bool { return slices.Contains(g.groups, name) }) {
			role, templates = max(role, g.role), append(templates, g.templates...)
		}
	}
	return role, templates
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
			who, found = Identity{Name: tokenPrefix + t.name, Role: t.role, Templates: t.templates}, 1
		}
	}
	return who, found == 1
}

// read reads an access file.
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

// presented is the token that a request presents; "" for none. A browser, which asks its
// user for a name and a password, sends it as the password.
func presented(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", nil
	}
	scheme, text, _ := strings.Cut(values[0], " ")
	_, password, basic := r.BasicAuth()
	if basic {
		scheme, text = "Bearer", password
	}
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || text == "" || len(text) > 16<<10 {
		return "", unauthorized("the Authorization field must be Bearer and a token, or Basic with the token as the password")
	}
	return text, nil
}
