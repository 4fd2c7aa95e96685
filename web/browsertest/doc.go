// Package browsertest opens the dashboard of a real cronce in a real browser. It
// is a module of its own, so that the browser's driver is no dependency of the
// product.
package browsertest
