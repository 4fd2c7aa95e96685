package serve

import (
	"net/url"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/hosts"
)

// hosts returns the names and addresses that requests on --listen may have in Host. A page of another site whose name
// resolves to this machine (DNS rebinding) would otherwise be answered.
func (a *app) hosts(f serveFlags) (access.Hosts, error) {
	for _, name := range f.allowHost {
		if !hosts.Valid(name) {
			return access.Hosts{}, command.Usage("invalid host %q in --allow-host; use names such as cronce.internal without "+
				"port, with commas between them", name)
		}
	}
	public, err := url.Parse(a.PublicURL) // "": no host
	if err != nil {
		return access.Hosts{}, err
	}
	return access.NewHosts(f.listen, append(f.allowHost, public.Hostname())...), nil
}
