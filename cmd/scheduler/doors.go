package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// door is how a command reaches what it asks or changes.
type door int

const (
	byAPI    door = iota + 1 // a server's API or a ledger
	onLedger                 // a ledger only
	offline                  // neither
)

// doors are those of all commands but the groups.
var doors = map[string]door{
	"status": byAPI, "why": byAPI, "next": byAPI, "trigger": byAPI, "backfill": byAPI,
	"jobs list": byAPI, "jobs show": byAPI, "jobs pause": byAPI, "jobs resume": byAPI,
	"runs list": byAPI, "runs show": byAPI, "runs follow": byAPI, "runs cancel": byAPI, "runs ack": byAPI, "runs redrive": byAPI, "runs rerun": byAPI,
	"incidents list": byAPI, "incidents show": byAPI, "incidents ack": byAPI,

	"diff": onLedger, "purge": onLedger, "migrate up": onLedger, "migrate status": onLedger,

	"demo": offline, "serve": offline, "init": offline, "schema": offline, "check": offline, "probe": offline, "conform": offline, "health": offline,
	"import crontab": offline, "import kubernetes": offline, "import eventbridge": offline, "import cloud-scheduler": offline, "import vercel": offline,
	"export cloudformation": offline, "export terraform": offline, "export jwks": offline, "keys generate": offline, "keys rotate": offline, "access token": offline, "access check": offline,
	"notify test": offline, "migrate print": offline, "version": offline, "man": offline,
}

// refuseServer refuses --server where a command would not use it: without it, one
// that works on a ledger would act on another than the one that is meant. The
// variable may be set for other commands and is ignored by one that works offline.
func (a *app) refuseServer(c *cobra.Command) error {
	_, name, _ := strings.Cut(c.CommandPath(), " ")
	switch doors[name] {
	case onLedger:
		if a.server != "" && !c.Flags().Changed("against") {
			return usage("%q works on a ledger itself, not through a server; leave out --server and CRONCE_SERVER, and name the ledger with --db", c.CommandPath())
		}
	case offline:
		if c.Flags().Changed("server") {
			return usage("%q asks no server; leave out --server", c.CommandPath())
		}
	}
	return nil
}
