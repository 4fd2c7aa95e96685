package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// network is what every connection of the fleet passes through.
type network struct {
	server *toxiproxy.ApiServer
	links  []*link
}

// link is one process's way to one other: at most one thing is wrong with it
// at a time.
type link struct {
	name  string
	proxy *toxiproxy.Proxy
	wrong string // "" or the name of the toxic
}

// trouble is something that can be wrong with a link.
type trouble struct {
	kind       string
	attributes map[string]any
}

func newNetwork() *network {
	zerolog.SetGlobalLevel(zerolog.Disabled) // some toxics log past their server's logger
	metrics := toxiproxy.NewMetricsContainer(prometheus.NewRegistry())
	return &network{server: toxiproxy.NewServer(metrics, zerolog.Nop())}
}

// between makes a link and returns the address that leads over it.
func (n *network) between(name, upstream string) (address string, err error) {
	p := toxiproxy.NewProxy(n.server, name, "127.0.0.1:0", upstream)
	if err := p.Start(); err != nil {
		return "", err
	}
	n.links = append(n.links, &link{name: name, proxy: p})
	return p.Listen, nil
}

// pick chooses a trouble: a delay, a trickle, a cut after some bytes, a reset,
// or a black hole, in which connections stay open and nothing arrives.
func pick(dice *rand.Rand) trouble {
	switch dice.IntN(6) {
	case 0:
		return trouble{"latency", map[string]any{"latency": 50 + dice.IntN(1500), "jitter": 50}}
	case 1:
		return trouble{"bandwidth", map[string]any{"rate": 1}} // KB/s
	case 2:
		return trouble{"limit_data", map[string]any{"bytes": 1 + dice.IntN(4000)}}
	case 3:
		return trouble{"reset_peer", map[string]any{"timeout": dice.IntN(200)}}
	default:
		return trouble{"timeout", map[string]any{"timeout": 0}}
	}
}

// disturb puts a trouble on one direction of the link.
func (l *link) disturb(t trouble, dice *rand.Rand) error {
	stream := []string{"upstream", "downstream"}[dice.IntN(2)]
	text, err := json.Marshal(map[string]any{"name": t.kind, "type": t.kind, "stream": stream, "attributes": t.attributes})
	if err != nil {
		return err
	}
	if _, err := l.proxy.Toxics.AddToxicJson(bytes.NewReader(text)); err != nil {
		return err
	}
	l.wrong = t.kind
	return nil
}

func (l *link) heal(ctx context.Context) error {
	if l.wrong == "" {
		return nil
	}
	wrong := l.wrong
	l.wrong = ""
	removed := make(chan error, 1)
	go func() { removed <- l.proxy.Toxics.RemoveToxic(ctx, wrong) }()
	select {
	case err := <-removed:
		return err
	case <-time.After(5 * time.Second):
	}
	// What is held up on a connection that nobody reads holds up the removal too.
	l.proxy.Stop()
	return errors.Join(<-removed, l.proxy.Start())
}

func (n *network) close() {
	for _, l := range n.links {
		l.proxy.Stop()
	}
}
