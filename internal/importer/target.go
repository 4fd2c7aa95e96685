package importer

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cronce/cronce/internal/hosts"
)

// target is a service that imported jobs call.
type target struct {
	name, urlEnv string
	base         string // what urlEnv holds; empty if only the source's environment says it
	allowHTTP    bool
	auth         auth
	ca           string // file of certificates
	identity     string // equal for jobs that may share the target; holds secrets, never printed
}

// targetFor finds or makes the target of a call. Calls share one when their base URL
// and their credentials are the same.
func (b *builder) targetFor(e *entry, at endpoint) *target {
	c := e.call
	identity := strings.Join(append([]string{at.base, at.urlEnv, c.ca}, c.credentials()...), "\x00")
	if t := b.targetOf(identity); t != nil {
		return t
	}
	name := b.unique(cmp.Or(slug(at.host), slug(strings.TrimSuffix(strings.ToLower(at.urlEnv), "_url")), "target"), b.targetNames)
	t := &target{name: name, base: at.base, urlEnv: at.urlEnv, identity: identity, ca: c.ca}
	if t.urlEnv == "" {
		t.urlEnv = b.reserveVariable(variable(at.host)+"_URL", at.base)
	}
	if u, err := url.Parse(at.base); err == nil && u.Scheme == "http" && !hosts.Loopback(u.Hostname()) {
		t.allowHTTP = true
		e.note(Network, "the call is unencrypted http; the target has allowHTTP: true")
	}
	t.auth = b.authOf(&c, variable(name))
	for _, n := range t.auth.names() {
		e.note(Secrets, "set %s in the environment of cronce: %s", n, t.auth.holds[n])
	}
	return t
}

// targetOf returns the target with an identity, or nil.
func (b *builder) targetOf(identity string) *target {
	if i := slices.IndexFunc(b.targets, func(t *target) bool { return t.identity == identity }); i >= 0 {
		return b.targets[i]
	}
	return nil
}

// placeholderTarget finds or makes the target of a placeholder. Those of one receiver share it.
func (b *builder) placeholderTarget(e *entry, id string) *target {
	identity := "\x00" + id // which no target of a call can have
	if e.receiver != "" {
		identity = "\x00\x00" + e.receiver
	}
	if t := b.targetOf(identity); t != nil {
		return t
	}
	name := b.unique(cmp.Or(slug(lastSegment(e.receiver)), id), b.targetNames)
	return &target{name: name, urlEnv: b.reserveVariable(variable(name)+"_URL", identity), identity: identity}
}

// reserveVariable returns the variable's name, with a number behind it if the name is taken for
// a value of another origin.
func (b *builder) reserveVariable(name, origin string) string {
	free := name
	for n := 2; ; n++ {
		if taken, known := b.origins[free]; !known || taken == origin {
			b.origins[free] = origin
			return free
		}
		free = fmt.Sprintf("%s_%d", name, n)
	}
}

// variables returns the environment variables of the target, with the meaning of each value.
func (t *target) variables() map[string]string {
	all := map[string]string{t.urlEnv: cmp.Or(t.base, "the base URL")}
	for name, holds := range t.auth.holds {
		all[name] = holds
	}
	return all
}
