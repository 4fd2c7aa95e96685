package sqlite

// Source is how Open names a file to the driver.
var Source = source
