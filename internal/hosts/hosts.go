// Package hosts validates the host, the port and the path of an address without looking
// the name up. The registry, the flags and the environment share its rules.
package hosts

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Valid reports whether the host of a URL can exist: an IP address, or a name of up to
// 253 characters in labels of up to 63 letters, digits, dashes and underscores. No label begins
// or ends with a dash, and the last is no number (RFC 1123, section 2.1), as resolvers
// differ in which address such a name is.
func Valid(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return !strings.ContainsFunc(addr.Zone(), invisible)
	}
	host = strings.TrimSuffix(host, ".")
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if len(label) < 1 || len(label) > 63 || strings.Trim(label, "-") != label || strings.ContainsFunc(label, notInHost) {
			return false
		}
	}
	return len(host) <= 253 && !numeric.MatchString(labels[len(labels)-1])
}

// numeric are the numbers that some resolvers read as a part of an IP address.
var numeric = regexp.MustCompile(`^(?i)([0-9]+|0x[0-9a-f]*)$`)

func notInHost(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// ValidPort reports whether the port of a URL is 1 to 65535, or left out.
func ValidPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// Loopback reports whether the host of a URL is surely this machine, to which
// plain http may be spoken. The name localhost is (RFC 6761, section 6.3); other
// names are not looked up.
func Loopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

// CheckPath refuses a path of a URL, percent-encoded, that a server could read as another
// place: dot segments (encoded or with backslashes too), a second slash at the start,
// which some read as a host, and bytes that do not belong into a request line.
func CheckPath(path string) error {
	plain, err := url.PathUnescape(path)
	switch {
	case err != nil:
		return errors.New("has a bad percent-encoding")
	case strings.ContainsFunc(path, invisible):
		return errors.New("has characters that need percent-encoding")
	case strings.ContainsAny(path, "#\\"):
		return errors.New("has a # or a backslash: percent-encode it")
	case strings.HasPrefix(path, "//"):
		return errors.New("begins with two slashes")
	}
	for segment := range strings.FieldsFuncSeq(plain, func(r rune) bool { return r == '/' || r == '\\' }) {
		if segment == "." || segment == ".." {
			return errors.New("has a . or .. segment: write the path out")
		}
	}
	return nil
}

// invisible are all but the visible ASCII characters.
func invisible(r rune) bool { return r < '!' || r > '~' }
