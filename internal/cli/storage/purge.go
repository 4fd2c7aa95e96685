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

// purgeFlags has the flags of purge.
type purgeFlags struct {
	dryRun   bool
	fullPace bool
	store    string
}

func (a *app) purgeCommand() *cobra.Command {
	var f purgeFlags
	c := &cobra.Command{
		Use:   "purge",
		Short: "Remove expired keys and old runs now, as the nightly purge does",
		Long: `purge removes the expired keys of every key store of the registry, and from the
ledger the runs that finished before cleanup.ledgerRetention. With --store it
removes only keys.

It never removes a key that has not expired. You can stop it at any time, run it
again, and run it at the same time as the nightly purge. A store that fails does
not stop the others; the exit code is then 1.`,
		Example: `  cronce purge --dry-run
  cronce purge --store accounting`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.purgeNow(c.Context(), f) },
	}
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "only count what would be removed")
	c.Flags().BoolVar(&f.fullPace, "full-pace", false, "do not pause between batches")
	c.Flags().StringVar(&f.store, "store", "", "only the key store of this `name`")
	return c
}

// purgeNow purges and prints the report, also after an error: stores that were purged are done.
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
	return cmp.Or(a.printPurge(reg, report), failed)
}

// purgeOf returns the purge that the flags select, and a function that closes what it opened.
func (a *app) purgeOf(ctx context.Context, reg *jobs.Registry, f purgeFlags) (cleanup.Purge, func(), error) {
	var none cleanup.Purge
	p := cleanup.New(reg, keystores.Of(reg, a.Lookup), nil)
	p.DryRun = f.dryRun
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
	if f.store != "" {
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

// withRuns adds the finished runs of the ledger to a purge. If no ledger exists, only the key stores are purged.
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

// printPurge prints what was removed of each key scope, of runs and of other rows, and what is left.
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
