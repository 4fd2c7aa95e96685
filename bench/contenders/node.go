package contenders

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cronce/cronce/bench/rig"
)

// nodeDir holds the peers that run on Node.js, with the Node.js that they need,
// as npm packages. It is looked for where the benchmarks are started: bench.
const nodeDir = "node"

// Node are the peers that run on Node.js, each a single process at the settings
// that suit it best; see their files. Without npm there are none, and why says
// so. The packages are installed by the first that asks.
func Node() (peers []rig.Contender, why string) {
	node := filepath.Join(nodeDir, "node_modules", ".bin", "node")
	if _, err := os.Stat(node); err != nil {
		install := exec.Command("npm", "ci", "--silent")
		install.Dir, install.Stderr = nodeDir, os.Stderr
		if err := install.Run(); err != nil {
			return nil, fmt.Sprintf("graphile-worker and pg-boss are skipped: npm ci in bench/%s: %v", nodeDir, err)
		}
	}
	command := func(file string) []string { return []string{node, filepath.Join(nodeDir, file)} }
	return []rig.Contender{
		{Name: "graphile-worker", Store: rig.PostgreSQL, Command: command("graphile.mjs"), Stored: finishedGraphile},
		{Name: "pg-boss", Store: rig.PostgreSQL, Command: command("pgboss.mjs"), Stored: finishedPgBoss},
	}, ""
}

// finishedGraphile: a finished job is gone, so what is counted is what was ever
// there less what is left.
func finishedGraphile(ctx context.Context, database string) (int, error) {
	return countPostgres(ctx, database, `
		SELECT (SELECT last_value FROM pg_sequences
			WHERE pg_get_serial_sequence('graphile_worker._private_jobs', 'id') = format('%I.%I', schemaname, sequencename))
			- (SELECT count(*) FROM graphile_worker._private_jobs)`)
}

func finishedPgBoss(ctx context.Context, database string) (int, error) {
	return countPostgres(ctx, database, `SELECT count(*) FROM pgboss.job WHERE state = 'completed' AND name = 'call'`)
}
