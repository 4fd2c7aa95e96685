package postgres

// Hosts lists the hosts that a database's URL names, or that the environment sets if the
// URL names none. A host that begins with / is a socket's directory. Hosts does not
// connect. It returns an error for a URL that Open cannot read; the error does not show
// the URL.
func Hosts(url string) ([]string, error) {
	config, err := defaults(nil).config(url)
	if err != nil {
		return nil, err
	}
	hosts := []string{config.ConnConfig.Host}
	for _, f := range config.ConnConfig.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	return hosts, nil
}
