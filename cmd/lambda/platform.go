package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// platformHandler is the handler as the platform calls it: its log lines bear
// the request ID, its errors the name of their kind, and when a secret has
// changed another handler takes its place.
type platformHandler struct {
	current *invocation
	secrets *secrets

	mu sync.Mutex
	*handler
}

// Invoke answers one event with the secrets as they are now. An error names its kind, which alarms
// count.
func (p *platformHandler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if c, ok := lambdacontext.FromContext(ctx); ok {
		p.current.set(c.AwsRequestID)
	}
	answer, err := p.renewed(ctx).Invoke(ctx, payload)
	if err != nil {
		return nil, messages.InvokeResponse_Error{Message: err.Error(), Type: errorType(err)}
	}
	return answer, nil
}

// renewed returns the handler for the secrets as they are now.
func (p *platformHandler) renewed(ctx context.Context) *handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.secrets.changed(ctx) {
		return p.handler
	}
	h, err := p.secrets.handler(ctx)
	if err != nil {
		p.log.Error("new value of a secret is invalid; last value used", "error", err)
		return p.handler
	}
	p.log.Info("secret refreshed")
	p.handler.close()
	p.handler = h
	return h
}

// reportTime bounds the report of a start that failed.
const reportTime = 2 * time.Second

// reportInit tells the platform why the function cannot start ("Initialization
// error" in AWS's description of the Runtime API). api is the API's address;
// empty: no platform.
func reportInit(api string, failed error) error {
	if api == "" {
		return nil
	}
	name := errorType(failed)
	body, err := json.Marshal(messages.InvokeResponse_Error{Message: failed.Error(), Type: name})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), reportTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+api+"/2018-06-01/runtime/init/error", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Lambda-Runtime-Function-Error-Type", name)
	client := &http.Client{Transport: &http.Transport{}} // the platform's API is never behind a proxy
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("the platform answered %s", resp.Status)
	}
	return nil
}
