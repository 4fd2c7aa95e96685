package command

import (
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/hosts"
)

// EnvPublicURL is the variable of the URL at which people reach the dashboard.
const EnvPublicURL = "CRONCE_PUBLIC_URL"

// ValidPublicURL reports whether links can begin with a URL.
func ValidPublicURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && hosts.Valid(u.Hostname()) && hosts.ValidPort(u.Port()) &&
		u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "" // pages link to each other from the root
}

// CheckPublicURL refuses an invalid public URL, and names the flag or the variable of
// the command that it comes from.
func (env *Env) CheckPublicURL(c *cobra.Command) error {
	if env.PublicURL == "" || ValidPublicURL(env.PublicURL) {
		return nil
	}
	if c.Flags().Changed("public-url") {
		return Usage("%s", InvalidPublicURL("--public-url"))
	}
	return Usage("%s", InvalidPublicURL(EnvPublicURL))
}

// InvalidPublicURL returns the error about a public URL that source names. It does not show the URL, which may have a
// password.
func InvalidPublicURL(source string) string {
	return "invalid " + source + "; use an absolute URL without user, path, query and fragment, such as https://cronce.example.com"
}
