package mysql

// Parse is what Open makes of an address.
var Parse = parse

// LookUp is the statement that looks a key up.
var LookUp = newDialect("idempotency_keys").common.Lookup.Text()
