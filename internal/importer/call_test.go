package importer_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/internal/importer"
)

// A name that looks like an address of this machine is another machine's.
func TestPlainHTTPToOthersIsTold(t *testing.T) {
	for host, told := range map[string]bool{"127.0.0.1:8080": false, "localhost": false, "127.example.com": true, "svc.example.com": true} {
		line := "* * * * * curl -X POST http://" + host + "/v1/x\n"
		r, err := importer.Import(importer.Crontab, []importer.File{{Name: "crontab", Data: []byte(line)}}, importer.Options{Name: "acme"})
		if err != nil || strings.Contains(r.Registry, "allowHTTP: true") != told {
			t.Errorf("%s: %v\n%s", host, err, r.Registry)
		}
	}
}
