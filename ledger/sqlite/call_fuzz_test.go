package sqlite_test

import (
	"testing"

	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/sqlite"
)

func FuzzCall(f *testing.F) { ledgertest.FuzzCall(f, sqlite.EncodeCall, sqlite.DecodeCall) }
