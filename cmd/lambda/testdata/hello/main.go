// Command hello is the least function there is, for benchmarks to compare with.
// With HELLO_URL it makes one POST there before it answers, as a run does.
package main

import (
	"context"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	url := os.Getenv("HELLO_URL")
	lambda.Start(func(ctx context.Context, _ map[string]any) (string, error) {
		if url == "" {
			return "hello", nil
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
		if err != nil {
			return "", err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		return "hello", resp.Body.Close()
	})
}
