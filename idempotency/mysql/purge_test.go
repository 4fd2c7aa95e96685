package mysql_test

import (
	"testing"

	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/internal/testdb"
)

// Two purges at once, or a purge and a claim, may meet in a way that InnoDB ends
// as a deadlock. Here a trigger says so, once: what it writes to a table without
// transactions is there after the rollback.
func TestAPurgeThatIsTheVictimOfADeadlockBeginsItsBatchAgain(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) {
		db := open(t, fresh(t))
		migrate(t, db)
		for _, statement := range []string{
			"CREATE TABLE seen (n INT) ENGINE = MyISAM",
			"INSERT INTO idempotency_keys (scope, principal, `key`, request_hash, state, owner, created_at, expires_at)" +
				" VALUES ('s', 'p', '1', 'h', 'done', 'o', 1, 2), ('s', 'p', '2', 'h', 'done', 'o', 1, 3)",
			`CREATE TRIGGER victim BEFORE DELETE ON idempotency_keys FOR EACH ROW
IF (SELECT COUNT(*) FROM seen) = 0 THEN
  INSERT INTO seen VALUES (1);
  SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found';
END IF`,
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		done, err := mysql.New(db, mysql.Options{}).PurgeBatch(t.Context(), purge.Batch{Limit: 10})
		if err != nil || done.Rows != 2 || done.Scopes["s"] != 2 {
			t.Errorf("%+v, %v", done, err)
		}
	})
}
