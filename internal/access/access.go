// Package access identifies who makes a request of the API and what they may do. An
// access file names tokens by their hashes, an OIDC issuer, and proxies that
// authenticate users. Without a file only requests from the machine itself are allowed.
package access

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/cronce/cronce/internal/hosts"
)

// A Role says what an identity may do. Viewer, Operator and Admin are in this order: each may do
// all that those before it may. A Scheduler has its templates instead, and may do nothing else.
type Role int

// The roles. Each after Viewer has what it may do beyond the one before it.
const (
	None      Role = iota
	Scheduler      // reads, changes, pauses and resumes the schedules of its templates, and nothing else
	Viewer         // queries; see SeesBodies
	Operator       // pauses, resumes, triggers, backfills, redrives, cancels, acknowledges
	Admin          // forces redrives, reruns under a new key, and may let the target do work twice
)

var roleNames = []string{"none", "scheduler", "viewer", "operator", "admin"}

// String returns the role's name in an access file; None is "none".
func (r Role) String() string { return roleNames[r] }

// ParseRole returns the role that is named scheduler, viewer, operator or admin.
func ParseRole(name string) (Role, error) {
	for r := Scheduler; r <= Admin; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return None, fmt.Errorf("unknown role %q; valid roles: scheduler, viewer, operator, admin", name)
}

// Identity is the caller that a request has proved.
type Identity struct {
	Name string // proven; empty if nothing proves who makes the request
	Role Role
	// Templates names the templates whose schedules the identity may change, whatever its
	// role.
	Templates []string
}

// MayRead reports whether the identity may read the schedules of a template.
func (i Identity) MayRead(template string) bool {
	return i.Role >= Viewer || slices.Contains(i.Templates, template)
}

// MayChange reports whether the identity may change the schedules of a template.
func (i Identity) MayChange(template string) bool {
	return i.Role >= Operator || slices.Contains(i.Templates, template)
}

// Needs says in words that a request needs a role, or more, that the identity does not have.
func (i Identity) Needs(role string) string {
	return "this needs the role " + role + ", and " + i.Principal() + " has the role " + i.Role.String()
}

// Principal returns the name of the identity for limits and idempotency keys. It is
// not empty, even if Name is.
func (i Identity) Principal() string { return cmp.Or(i.Name, "anyone on this machine") }

// DeniedError reports that a request is refused.
type DeniedError struct {
	Status  int    // of HTTP
	Code    string // stable; see api.Problem
	Message string
}

// Error returns the message.
func (d *DeniedError) Error() string { return d.Message }

func unauthorized(message string) error {
	return &DeniedError{http.StatusUnauthorized, "unauthorized", message}
}

// Control identifies who makes a request.
type Control interface {
	// Identify returns the identity that makes a request. It returns a *DeniedError if
	// the request is refused.
	Identify(*http.Request) (Identity, error)
}

type contextKey struct{}

// NewContext returns a context that carries the identity of a request.
func NewContext(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, i)
}

// SeesBodies reports whether the caller of a context may see what runs send and what targets
// answer. A context without an identity is of a command that reads the ledger itself.
func SeesBodies(ctx context.Context) bool {
	i, served := ctx.Value(contextKey{}).(Identity)
	return !served || i.Role >= Operator
}

// FromContext returns the identity that NewContext stored, or the zero Identity.
func FromContext(ctx context.Context) Identity {
	i, _ := ctx.Value(contextKey{}).(Identity)
	return i
}

// Loopback lets everyone on this machine do everything. Use it on a loopback address
// only. The Host field must name the machine too. So a page of another site cannot use
// a name that resolves to this machine (DNS rebinding).
type Loopback struct{}

// Identify implements Control.
func (Loopback) Identify(r *http.Request) (Identity, error) {
	if !loopback(r.RemoteAddr) || !loopback(r.Host) {
		return Identity{}, &DeniedError{http.StatusForbidden, "forbidden",
			"without an access file (--access) only this machine is served, by its loopback address or localhost"}
	}
	return Identity{Role: Admin}, nil
}

// loopback reports whether an address with or without a port is this machine's.
func loopback(address string) bool { return hosts.Loopback(hostOf(address)) }

// IsLoopback reports whether a --listen address can only be reached from this
// machine.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && host != "" && loopback(host)
}
