package contenders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/bench/rig"
)

// AskedPerSecond is how many requests askers send, each its own identity: the limit
// is 100 a second for one.
const (
	AskedPerSecond = 500
	askers         = 8
	inFlight       = 64
)

// Answers is what the askers got.
type Answers struct {
	PerSecond float64
	Failed    int    // answers that are not 2xx, and none
	Example   string // of those
	Late      rig.Late
}

const askMark = "BENCH_ASK"

type asking struct {
	URL    string
	Tokens []string
}

// Asker asks and never returns, if this process was started to ask. Call it first
// in main.
func Asker() {
	given, ok := os.LookupEnv(askMark)
	if !ok {
		return
	}
	var a asking
	if err := json.Unmarshal([]byte(given), &a); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := json.NewEncoder(os.Stdout).Encode(a.askAll(ctx)); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// startAsking asks from a process of its own, so that its work is not counted as
// cronce's. stop ends it and returns what it got.
func startAsking(ctx context.Context, url string, tokens []string) (stop func() (Answers, error), err error) {
	given, err := json.Marshal(asking{url, tokens})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), askMark+"="+string(given))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() (a Answers, err error) {
		stdin.Close()
		err = json.NewDecoder(out).Decode(&a)
		return a, errors.Join(err, cmd.Wait())
	}, nil
}

// askAll sends a request each 1/AskedPerSecond until the context ends, and waits for
// their answers. While as many as inFlight are not answered it sends none: then the
// rate that it reports is lower.
func (a asking) askAll(ctx context.Context) (got Answers) {
	var mu sync.Mutex
	var all sync.WaitGroup
	var took []time.Duration
	places := make(chan struct{}, inFlight)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: inFlight}}
	begun, i := time.Now(), 0
	sent := begun
	for ; ctx.Err() == nil; i++ {
		places <- struct{}{}
		number := i // the loop goes on: late requests would all be of one identity
		all.Go(func() {
			defer func() { <-places }()
			at := time.Now()
			err := a.ask(client, number)
			mu.Lock()
			defer mu.Unlock()
			if took = append(took, time.Since(at)); err != nil {
				got.Failed++
				got.Example = err.Error()
			}
		})
		time.Sleep(time.Second/AskedPerSecond - time.Since(sent))
		sent = sent.Add(max(time.Second/AskedPerSecond, time.Since(sent)-time.Second/10)) // catches up with at most 100 ms
	}
	got.PerSecond = float64(i) / time.Since(begun).Seconds()
	all.Wait()
	got.Late = rig.Lateness(took)
	return got
}

// ask sends the request with a number: mostly lists, and one in ten an action. It writes
// its key and changes nothing: the job has no dead run.
func (a asking) ask(client *http.Client, i int) error {
	method, body := http.MethodGet, ""
	path := []string{"/v1/status", "/v1/runs?limit=50", "/v1/jobs?limit=50", "/v1/runs?state=dead", "/v1/audit", "/v1/processes",
		"/v1/jobs/job-000000", "/v1/runs?job=job-000000", "/v1/incidents", ""}[i/askers%10]
	if path == "" {
		method, path, body = http.MethodPost, "/v1/runs/ack", `{"job":"job-000000","why":"a benchmark"}`
	}
	r, err := http.NewRequest(method, a.URL+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+a.Tokens[i%len(a.Tokens)])
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", uuid.NewString())
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	return err
}
