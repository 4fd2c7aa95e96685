package cli_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/migrations"
)

// A purge is killed between two of its many batches, or in one: what it removed
// stays removed, what had not expired is there, and the next purge ends it.
func TestAPurgeThatIsKilledIsGoneOnWith(t *testing.T) {
	t.Parallel()
	url := testdb.Postgres(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	exec := func(statement string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	left := func(condition string) (n int) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM cronce.idempotency_keys WHERE `+condition).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	tables, err := migrations.PrintKeys(migrations.Postgres, "", "")
	if err != nil {
		t.Fatal(err)
	}
	const expired, alive = 120_000, 1000
	exec(tables)
	config := writeFile(t, "version: 1\nname: test\nkeyStores: [ { name: db, urlEnv: KEYS_URL } ]\n")
	args := []string{"purge", "--config", config, "--db", "sqlite:" + t.TempDir() + "/none.db"}
	for tries := 0; left(`expires_at <= now()`) == 0; tries++ {
		if tries == 5 {
			t.Fatal("five times the purge was over before it was killed: the test shows nothing")
		}
		exec(`TRUNCATE cronce.idempotency_keys`)
		exec(`INSERT INTO cronce.idempotency_keys (scope, principal, key, request_hash, state, owner, created_at, expires_at)
SELECT 'orders', 'p', i::text, 'h', 'done', 'o', now(), now() + CASE WHEN i <= 120000 THEN -i ELSE 3600000 + i END * interval '1 millisecond'
FROM generate_series(1, 121000) i`)
		p := spawn(t, []string{"KEYS_URL=" + url}, args...)
		eventually(t, "the first batch", func() bool { return left(`expires_at <= now()`) < expired })
		p.Kill()
	}

	if n := left(`expires_at > now()`); n != alive {
		t.Errorf("%d of %d unexpired keys after the kill", n, alive)
	}
	if code, _, errs := invoke(t, map[string]string{"KEYS_URL": url}, append(args, "--full-pace")...); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if n, unexpired := left(`expires_at <= now()`), left(`expires_at > now()`); n != 0 || unexpired != alive {
		t.Errorf("%d expired keys are left, %d of %d unexpired ones", n, unexpired, alive)
	}
}
