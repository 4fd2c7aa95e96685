// Package awssecrets reads secrets from AWS Secrets Manager and from the
// parameter store of Systems Manager, by two kinds of signed HTTPS request. It
// needs no AWS SDK, which would add megabytes to a function's binary
// (docs/decisions/0014-secrets-without-the-sdk.md).
package awssecrets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/sigv4"
)

// Reference names a secret. Exactly one field is set.
type Reference struct {
	SecretsManager string `json:"secretsManager,omitempty"` // the secret's ARN or name
	SSM            string `json:"ssm,omitempty"`            // the parameter's name or ARN
}

// Parse reads a reference out of a variable's value: a JSON object such as
// {"secretsManager":"arn:..."} or {"ssm":"/acme/token"}. A value that does not
// begin with { is the secret itself, and ok is false. Errors do not show the value.
func Parse(value string) (ref Reference, ok bool, err error) {
	if !strings.HasPrefix(value, "{") {
		return ref, false, nil
	}
	d := json.NewDecoder(strings.NewReader(value))
	d.DisallowUnknownFields()
	if d.Decode(&ref) != nil || d.More() || (ref.SecretsManager == "") == (ref.SSM == "") {
		return Reference{}, true, errors.New(`not a reference to a secret; write {"secretsManager":"ARN"} or {"ssm":"NAME"}`)
	}
	return ref, true, nil
}

func (r Reference) String() string {
	if r.SSM != "" {
		return "SSM parameter " + r.SSM
	}
	return "Secrets Manager secret " + r.SecretsManager
}

// Client reads secrets with the credentials and the region of the environment,
// as Lambda sets them. It is safe for concurrent use.
type Client struct {
	Lookup func(string) (string, bool) // of environment variables
	HTTP   *http.Client
}

// maxAnswer is more than the largest secret, 64 KiB.
const maxAnswer = 256 << 10

// Get reads the secret that a reference names. Its errors hold no secret.
func (c *Client) Get(ctx context.Context, ref Reference) (string, error) {
	value, err := c.get(ctx, ref)
	if err != nil {
		return "", fmt.Errorf("%s: %w", ref, err)
	}
	return value, nil
}

func (c *Client) get(ctx context.Context, ref Reference) (string, error) {
	var answer struct {
		SecretString *string
		Parameter    struct{ Value *string }
	}
	var err error
	if ref.SSM != "" {
		err = c.call(ctx, ssm, regionOf(ref.SSM), map[string]any{"Name": ref.SSM, "WithDecryption": true}, &answer)
	} else {
		err = c.call(ctx, secretsManager, regionOf(ref.SecretsManager), map[string]any{"SecretId": ref.SecretsManager}, &answer)
	}
	switch {
	case err != nil:
		return "", err
	case answer.SecretString != nil:
		return *answer.SecretString, nil
	case answer.Parameter.Value != nil:
		return *answer.Parameter.Value, nil
	}
	return "", errors.New("it has no text; store the secret as a string")
}

// service is one of the two APIs, with the operation that reads.
type service struct{ name, target, endpointVariable string }

var (
	secretsManager = service{"secretsmanager", "secretsmanager.GetSecretValue", "AWS_ENDPOINT_URL_SECRETS_MANAGER"}
	ssm            = service{"ssm", "AmazonSSM.GetParameter", "AWS_ENDPOINT_URL_SSM"}
)

// regionOf is the region in an ARN; "" for a name.
func regionOf(id string) string {
	if parts := strings.SplitN(id, ":", 5); len(parts) == 5 && parts[0] == "arn" {
		return parts[3]
	}
	return ""
}

func (c *Client) call(ctx context.Context, s service, region string, input, output any) error {
	if region == "" {
		region = c.value("AWS_REGION")
	}
	keys := sigv4.Credentials{
		AccessKeyID: c.value("AWS_ACCESS_KEY_ID"), SecretAccessKey: c.value("AWS_SECRET_ACCESS_KEY"), SessionToken: c.value("AWS_SESSION_TOKEN"),
	}
	if region == "" || keys.AccessKeyID == "" || keys.SecretAccessKey == "" {
		return errors.New("the environment has no AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; references to " +
			"secrets are for AWS Lambda, which sets them")
	}
	body, err := json.Marshal(input)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint(s, region), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", s.target)
	if err := sigv4.Sign(req, body, keys, sigv4.Scope{Region: region, Service: s.name}, time.Now()); err != nil {
		return err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp.StatusCode, text)
	}
	if json.Unmarshal(text, output) != nil {
		return errors.New("AWS answered with something else than JSON")
	}
	return nil
}

func (c *Client) endpoint(s service, region string) string {
	if url := c.value(s.endpointVariable); url != "" {
		return url
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	return "https://" + s.name + "." + region + "." + domain + "/"
}

func (c *Client) value(name string) string {
	v, _ := c.Lookup(name)
	return v
}

// refusal says what AWS answered: an error has no secret in it.
func refusal(status int, text []byte) error {
	var e struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &e) // also reads Message: names match in any case
	return fmt.Errorf("AWS answered HTTP %d %.100s: %.300s", status, e.Type[strings.LastIndexByte(e.Type, '#')+1:], e.Message)
}
