package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/internal/testdb"
)

func TestReadyNamesWhatWouldFailCalls(t *testing.T) {
	url := testdb.Postgres(t)
	for name, tt := range map[string]struct {
		sql     string
		options postgres.Options
		strict  bool // the role's default isolation is
		want    []string
	}{
		"all is well":                     {options: options},
		"no table":                        {options: postgres.Options{Schema: "shop"}, want: []string{`"shop"."idempotency_keys" does not exist`, "migrate print"}},
		"no column":                       {sql: `ALTER TABLE accounting.idempotency_keys DROP owner, DROP locked_until`, options: options, want: []string{`no column "owner"`, `no column "locked_until"`}},
		"no unique index":                 {sql: `ALTER TABLE accounting.idempotency_keys DROP CONSTRAINT idempotency_keys_pkey`, options: options, want: []string{"no unique index"}},
		"a column of the user's":          {sql: `ALTER TABLE accounting.idempotency_keys ADD tenant text NOT NULL`, options: options, want: []string{"tenant"}},
		"a column with a default":         {sql: `ALTER TABLE accounting.idempotency_keys ADD tenant text NOT NULL DEFAULT 'x'`, options: options},
		"a rule":                          {sql: `CREATE RULE quiet AS ON INSERT TO accounting.idempotency_keys DO INSTEAD NOTHING`, options: options, want: []string{"quiet", "drop"}},
		"a stricter role":                 {options: options, strict: true, want: []string{"serializable", "Options.Isolation"}},
		"a stricter role, and it is told": {options: postgres.Options{Schema: "accounting", Isolation: pgx.Serializable}, strict: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := pool(t, url, func(c *pgxpool.Config) {
				if tt.strict {
					c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
				}
			})
			must(t, p, `DROP SCHEMA IF EXISTS accounting CASCADE`)
			fatal(t, postgres.New(p, options).CreateTable(t.Context()))
			must(t, p, tt.sql)
			k, err := idempotency.New(postgres.New(p, tt.options), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
			if err != nil {
				t.Fatal(err)
			}
			err = k.Ready(t.Context())
			if (err != nil) != (len(tt.want) > 0) {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		})
	}
}

func TestReadyNamesMissingPrivileges(t *testing.T) {
	p := pool(t, database(t))
	role := "reader_of_" + p.Config().ConnConfig.Database
	must(t, p, `CREATE ROLE `+pgx.Identifier{role}.Sanitize())
	t.Cleanup(func() {
		must(t, p, `DROP OWNED BY `+pgx.Identifier{role}.Sanitize())
		must(t, p, `DROP ROLE `+pgx.Identifier{role}.Sanitize())
	})
	steps := []struct{ grant, want string }{
		{`SELECT`, "schema"},
		{`GRANT USAGE ON SCHEMA accounting TO ` + pgx.Identifier{role}.Sanitize(), "may not SELECT, INSERT, UPDATE, DELETE"},
		{`GRANT SELECT, INSERT ON accounting.idempotency_keys TO ` + pgx.Identifier{role}.Sanitize(), "may not UPDATE, DELETE"},
	}
	for _, step := range steps {
		must(t, p, step.grant)
		as := pool(t, p.Config().ConnString(), func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["role"] = role })
		err := postgres.New(as, options).Check(t.Context(), 0)
		if err == nil || !strings.Contains(err.Error(), step.want) {
			t.Errorf("after %s: %v", step.grant, err)
		}
	}
}
