package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
)

// defaultListen is the address at which serve answers and health asks.
const defaultListen = "127.0.0.1:9464"

func (a *app) healthCommand() *cobra.Command {
	var (
		listen  string
		ready   bool
		timeout time.Duration
	)
	c := &cobra.Command{
		Use:   "health",
		Short: "Check whether serve on this machine is alive, or ready",
		Long: `health requests /healthz, or with --ready /readyz, from the serve at --listen,
and prints the answer. It is the health check of a container, which has no other
HTTP client.

Exit 0 if the answer is 200, 1 otherwise.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkListen("--listen", listen); err != nil {
				return err
			}
			if timeout <= 0 {
				return command.Usage("--timeout %s: must be positive, such as 5s", timeout)
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			return a.health(ctx, listen, path)
		},
	}
	c.Flags().StringVar(&listen, "listen", defaultListen, "the `address` that serve listens on")
	c.Flags().BoolVar(&ready, "ready", false, "ask whether it can plan and record")
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	command.FromEnv(c.Flags(), "listen")
	return c
}

// answerLimit bounds what is printed of an answer.
const answerLimit = 4 << 10

// health asks the serve on this machine, without a proxy, and prints its answer. It fails unless the answer is 200.
func (a *app) health(ctx context.Context, listen, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachedBy(listen)+path, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy of the environment
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("no answer from serve; is it running, and with the same --listen? %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, answerLimit))
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(body))
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: HTTP %d: %s", path, answer.StatusCode, text)
	}
	if a.Encoded() {
		return a.Encode(map[string]string{"answer": text})
	}
	_, err = fmt.Fprintln(a.Out, text)
	return err
}

// reachedBy returns the address by which this machine reaches a listener: one on every interface is on the loopback
// too.
func reachedBy(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
