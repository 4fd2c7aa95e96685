// Package access identifies who makes a request of the API and what they may do. An
// access file names tokens by their hashes, an OIDC issuer, and proxies that have
// proved who asks; without a file only requests from the machine itself are allowed.
package access

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Role is what an identity may do; a greater one may do all that a lesser may.
type Role int

const (
	None     Role = iota
	Viewer        // asks; frozen request bodies are hidden
	Operator      // pauses, triggers, backfills, redrives, cancels, acknowledges
	Admin         // forces, reruns under a new key, may double
)

var roleNames = []string{"none", "viewer", "operator", "admin"}

func (r Role) String() string { return roleNames[r] }

// ParseRole reads viewer, operator or admin.
func ParseRole(name string) (Role, error) {
	for r := Viewer; r <= Admin; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return None, fmt.Errorf("unknown role %q; valid roles: viewer, operator, admin", name)
}

// Identity is who makes a request.
type Identity struct {
	Name string // proven; empty where nothing proves who asks
	Role Role
}

// Principal names the identity for limits and keys, the unproven one too.
func (i Identity) Principal() string { return cmp.Or(i.Name, "anyone on this machine") }

// Denied is the error of a request that is refused.
type Denied struct {
	Status  int
	Code    string
	Message string
}

func (d *Denied) Error() string { return d.Message }

func unauthorized(message string) error {
	return &Denied{http.StatusUnauthorized, "unauthorized", message}
}

// Control identifies who makes a request; a *Denied error refuses it.
type Control interface {
	Identify(*http.Request) (Identity, error)
}

type contextKey struct{}

// With returns a context that carries the identity of a request.
func With(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, i)
}

// Of returns the identity that With stored, or the zero Identity.
func Of(ctx context.Context) Identity {
	i, _ := ctx.Value(contextKey{}).(Identity)
	return i
}

type viaKey struct{}

// WithVia returns a context that names the interface of this process through which
// a request reaches the API, such as the dashboard. A client's request has none.
func WithVia(ctx context.Context, via string) context.Context {
	return context.WithValue(ctx, viaKey{}, via)
}

// Via returns the interface that WithVia stored; "" for a client's request.
func Via(ctx context.Context) string {
	via, _ := ctx.Value(viaKey{}).(string)
	return via
}

// Loopback lets everyone on this machine do everything. Mount it on a loopback
// address only. The Host field must name the machine too: a page of another site
// whose name was made to resolve to it (DNS rebinding) does not get in.
type Loopback struct{}

// Identify implements Control.
func (Loopback) Identify(r *http.Request) (Identity, error) {
	if !loopback(r.RemoteAddr) || !loopback(r.Host) {
		return Identity{}, &Denied{http.StatusForbidden, "forbidden", "without an access file (--access) only this machine is served, by its loopback address or localhost"}
	}
	return Identity{Role: Admin}, nil
}

// loopback reports whether an address with or without a port is this machine's.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// IsLoopback reports whether a --listen address can only be reached from this
// machine.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && host != "" && loopback(host)
}
