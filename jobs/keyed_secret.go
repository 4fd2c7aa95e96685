package jobs

import (
	"regexp"
	"sort"
)

// Data that is stored must not hold secrets. A name or a value that looks like one is
// refused; what looks like neither passes, since data may be any text.
var (
	dataSecretName = regexp.MustCompile(`(?i)(^|[._-])(passw(or)?d|pwd|(client|api|shared|signing|webhook)?[_-]?secret|` +
		`(api|access|private|secret)[_-]?key|(access|refresh|auth|bearer|api|id)?[_-]?token|` +
		`credentials?|authorization|cookie|jwt)$`)
	dataSecretValue = regexp.MustCompile(`^(sk_live_|sk_test_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|` +
		`AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|eyJ[A-Za-z0-9_-]+\.|whsec_|ya29\.|Bearer |Basic |-----BEGIN [A-Z ]*PRIVATE KEY)`)
)

// secretField returns the name of a field that looks like a secret, or "".
func secretField(fields map[string]any) string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		text, isText := fields[name].(string)
		if isText && text != "" && dataSecretName.MatchString(name) || secretWithin(fields[name]) {
			return name
		}
	}
	return ""
}

func secretWithin(value any) bool {
	switch v := value.(type) {
	case string:
		return dataSecretValue.MatchString(v)
	case []any:
		for _, item := range v {
			if secretWithin(item) {
				return true
			}
		}
	case map[string]any:
		return secretField(v) != ""
	}
	return false
}
