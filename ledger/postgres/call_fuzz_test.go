package postgres_test

import (
	"testing"

	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/postgres"
)

func FuzzCall(f *testing.F) { ledgertest.FuzzCall(f, postgres.EncodeCall, postgres.DecodeCall) }
