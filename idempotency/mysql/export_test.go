package mysql

// Parse is what Open makes of an address.
var Parse = parse

// The ways in which several statements go to the server.
const (
	Untried  = untried
	Compound = compound
	Listed   = listed
	Singly   = singly
)

// Use has a store go one of these ways without asking its server.
func Use(s *Store, way batching) { s.batches.Store(int32(way)) }

// Way is the one that a store goes.
func Way(s *Store) batching { return batching(s.batches.Load()) }

// LiteralBody is the longest body that is written into a statement.
const LiteralBody = literalBody

// LookUp is the statement that looks a key up.
func LookUp(s *Store, scope, principal, key string) string {
	return s.sql.look.with(scope, principal, key)
}
