package postgres_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/cronce/cronce/ledger/postgres"
)

// A Lambda's ledger: one connection, and tables that somebody else migrates.
func ExampleOpen() {
	ctx := context.Background()
	l, err := postgres.Open(ctx, os.Getenv("CRONCE_DATABASE_URL"), postgres.PoolSize(1))
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	jobs, err := l.Jobs(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, j := range jobs {
		fmt.Println(j.JobID, "is planned up to", j.Watermark)
	}
}
