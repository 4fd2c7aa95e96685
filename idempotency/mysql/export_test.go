package mysql

// Parse is what Open makes of an address.
var Parse = parse
