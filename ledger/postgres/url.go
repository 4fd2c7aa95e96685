package postgres

// Hosts lists the hosts that a database's URL names, or that the environment has
// in their place; one that begins with / is a socket's directory. It connects to
// nothing. Its error, for a URL that Open could not read either, does not show
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
