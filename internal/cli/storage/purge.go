package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/keystores"
	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs"
)

type purgeFlags struct {
	dryRun   bool
	fullPace bool
	scope    string
	store    string
}

func (a *app) purgeCommand() *cobra.Command {
	var f purgeFlags
	c := &cobra.Command{
		Use:   "purge",
		Short: "Remove expired keys and old runs now, as the nightly purge does",
		Long: `purge removes the expired keys of every key store of the registry, and from the
ledger the runs that finished before cleanup.ledgerRetention. With --scope or
--store it removes only keys.

It never removes a key that has not expired. You can stop it at any time, run it
again, and run it at the same time as the nightly purge. A store that fails does
not stop the others; the exit code is then 1.`,
		Example: `  cronce purge --dry-run
  cronce purge --store accounting --scope route:POST_/v1/payments`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.purgeNow(c.Context(), f) },
	}
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "only count what would be removed")
	c.Flags().BoolVar(&f.fullPace, "full-pace", false, "do not pause between batches")
	c.Flags().StringVar(&f.scope, "scope", "", "only keys of this key `scope`; its full name")
	c.Flags().StringVar(&f.store, "store", "", "only the key store of this `name`")
	return c
}

func (a *app) purgeNow(ctx context.Context, f purgeFlags) error {
	reg, err := a.Registry()
	if err != nil {
		return err
	}
	p, done, err := a.purgeOf(ctx, reg, f)
	if err != nil {
		return err
	}
	defer done()
	if f.scope != "" {
		if err := knownScope(ctx, reg, p); err != nil {
			return err
		}
	}
	var show *bar
	if terminal.Is(a.Err) && !f.dryRun {
		if show, err = newBar(ctx, a.Err, p); err != nil {
			return err
		}
		p.Observer = show
	}
	report, failed := p.Run(ctx)
	if show != nil {
		show.end() // its line, before the report's
	}
	if err := a.printPurge(reg, report); err != nil {
		return err
	}
	if f.scope != "" && report.Deleted == 0 && failed == nil {
		a.tellScopes(ctx, p)
	}
	return failed
}

// expiredScopes are the key scopes that have expired keys.
func expiredScopes(ctx context.Context, p cleanup.Purge) ([]string, error) {
	p.Scope, p.DryRun, p.Runs = "", true, nil
	all, err := p.Run(ctx)
	var names []string
	for _, s := range all.Scopes {
		names = append(names, s.Scope)
	}
	return names, err
}

// knownScope refuses a key scope that is in no entry of the registry and of
// which no store has an expired key: its name may be misspelt.
func knownScope(ctx context.Context, reg *jobs.Registry, p cleanup.Purge) error {
	if _, rule := reg.TTL(p.Scope); rule != "" {
		return nil
	}
	names, err := expiredScopes(ctx, p)
	if err != nil {
		return nil // the purge itself reports a store that fails
	}
	for j := range reg.JobsAndTemplates() {
		names = append(names, j.KeyScope)
	}
	for _, k := range reg.KeyTTLs() {
		names = append(names, k.Scope)
	}
	if slices.Contains(names, p.Scope) {
		return nil
	}
	return command.Unknown("key scope", p.Scope, names,
		"no job and no keyTTLs entry has it, and no key of it has expired; \"cronce purge --dry-run\" lists the scopes that have expired keys")
}

// tellScopes helps who asked for a key scope of which nothing has expired.
func (a *app) tellScopes(ctx context.Context, p cleanup.Purge) {
	names, _ := expiredScopes(ctx, p) // a store that fails has no scopes to tell
	text := "nor has any other"
	if len(names) > 0 {
		text = "the scopes that have expired keys: " + strings.Join(names, ", ")
	}
	fmt.Fprintf(a.Err, "no key of the scope %q has expired; %s\n", p.Scope, text)
}

// purgeOf is the purge that the flags select, on the ledger that there is.
func (a *app) purgeOf(ctx context.Context, reg *jobs.Registry, f purgeFlags) (cleanup.Purge, func(), error) {
	var none cleanup.Purge
	if strings.Contains(f.scope, "*") {
		return none, nil, command.Usage("--scope %q is a pattern, and a purge takes one whole key scope; \"cronce purge "+
			"--dry-run\" lists those that have expired keys", f.scope)
	}
	p := cleanup.New(reg, keystores.Of(reg, a.Lookup), nil)
	p.Scope, p.DryRun = f.scope, f.dryRun
	if f.fullPace {
		p.Pace = purge.Pace{Share: 1}
	}
	if f.store != "" {
		p.Stores = slices.DeleteFunc(p.Stores, func(s cleanup.Store) bool { return s.Name != f.store })
		if len(p.Stores) == 0 {
			return none, nil, command.Unknown("key store", f.store, storeNames(reg),
				"the registry has the key stores: "+cmp.Or(strings.Join(storeNames(reg), ", "), "none"))
		}
	}
	for _, s := range reg.KeyStores() {
		if (f.store == "" || s.Name == f.store) && a.Getenv(s.URLEnv, "") == "" {
			return none, nil, command.Usage("the environment variable %s is not set: the URL of the key store %s", s.URLEnv, s.Name)
		}
	}
	if f.store != "" || f.scope != "" {
		return p, func() {}, nil
	}
	return a.withRuns(ctx, p)
}

func storeNames(reg *jobs.Registry) (names []string) {
	for _, s := range reg.KeyStores() {
		names = append(names, s.Name)
	}
	return names
}

// withRuns adds the ledger's finished runs; an embedded ledger that is not
// there has none.
func (a *app) withRuns(ctx context.Context, p cleanup.Purge) (cleanup.Purge, func(), error) {
	if !a.LedgerExists() {
		if len(p.Stores) == 0 {
			return p, nil, errors.New("nothing to purge: no ledger exists yet (\"cronce serve\" makes it; --db names another), " +
				"and the registry has no keyStores")
		}
		fmt.Fprintln(a.Err, "no ledger exists yet; only the key stores are purged (--db names another ledger)")
		return p, func() {}, nil
	}
	s, err := a.OpenLedger(ctx)
	if err != nil {
		return p, nil, err
	}
	p.Runs = s
	return p, func() { s.Close() }, nil
}

func (a *app) printPurge(reg *jobs.Registry, r cleanup.Report) error {
	if a.Encoded() {
		return a.Encode(r)
	}
	verb := "removed"
	if r.DryRun {
		verb = "would remove"
	}
	if len(r.Scopes) > 0 {
		t := a.Table("SCOPE", "KEYS", "TTL", "BY").Optional("TTL", "BY")
		for _, s := range r.Scopes {
			ttl, rule := reg.TTL(s.Scope)
			if rule == "" {
				rule = "default"
			}
			t.Row(s.Scope, strconv.FormatInt(s.Deleted, 10), ttl.String(), rule)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.Out, "%s %s and %s\n", verb, plural.Of(r.Deleted, "expired key"), plural.Of(r.Runs, "finished run"))
	if r.History > 0 {
		_, more := fmt.Fprintf(a.Out, "%s %s of the ledger: actions, events, definitions, processes\n", verb, plural.Of(r.History, "other row"))
		err = errors.Join(err, more)
	}
	return errors.Join(err, printLeft(a.Out, r))
}

func printLeft(w io.Writer, r cleanup.Report) error {
	if r.Remaining() == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%d left\n", r.Remaining())
	return err
}
