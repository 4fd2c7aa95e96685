// Command bootstrap runs a registry in AWS Lambda. An event makes the run that
// "cronce serve" would make for the same scheduled time, under the same run ID,
// by the same executor. docs/aws.md describes the events and the
// answers.
package main

import (
	"context"
	"log"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/cronce/cronce/internal/buildinfo"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/retention"
	"github.com/cronce/cronce/schedule"
	"github.com/cronce/cronce/targets"
)

func main() {
	start := time.Now()
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(startGCPercent)
	}
	current := &invocation{}
	logger := slog.New(requestLog{slog.NewJSONHandler(os.Stderr, nil), current})
	log.SetFlags(log.Llongfile)
	log.SetOutput(libraryLog{logger})
	secrets := newSecrets(os.LookupEnv, logger)
	h, err := secrets.handler(context.Background())
	if err != nil {
		logger.Error("function failed to start", "error", err, "errorType", errorType(err))
		if err := reportInit(os.Getenv("AWS_LAMBDA_RUNTIME_API"), err); err != nil {
			logger.Error("init error not reported to the platform", "error", err)
		}
		os.Exit(1)
	}
	logger.Info("ready", "registry", h.reg.Name(), "jobs", h.reg.Len(), "stateless", h.ledger == nil, "took", time.Since(start).String())
	lambda.StartWithOptions(&platformHandler{current: current, secrets: secrets, handler: h}, lambda.WithContext(context.Background()))
}

// startGCPercent lets the heap grow to 16 MB before the first collection: a
// registry of hundreds of jobs is read without one, which would take a quarter of
// its start. The smallest function has 128 MB.
const startGCPercent = 400

// newHandler reads the environment: CRONCE_CONFIG (default cronce.yaml, beside
// the binary in the bundle), CRONCE_DATABASE_URL, and what the registry names.
func newHandler(lookup func(string) (string, bool), logger *slog.Logger) (*handler, error) {
	if err := jobs.UseZones(lookup); err != nil {
		return nil, ofKind(errConfiguration, err)
	}
	reg, err := soundRegistry(lookup)
	if err != nil {
		return nil, ofKind(errConfiguration, err)
	}
	if text := jobs.ZonesWarning(time.Now()); text != "" {
		logger.Warn("time zone database is old", "zones", schedule.ZoneVersion(), "advice", text)
	}
	h := &handler{reg: reg, log: logger}
	if url, set := lookup("CRONCE_DATABASE_URL"); set && url != "" {
		if h.ledger, err = newDatabase(url, reg.Name()); err != nil {
			return nil, ofKind(errConfiguration, err)
		}
	}
	if problems := reg.CheckWithoutLedger(); h.ledger == nil && len(problems) > 0 {
		return nil, ofKind(errConfiguration, problems)
	}
	if err := h.checkKeyStores(lookup); err != nil {
		return nil, ofKind(errConfiguration, err)
	}
	allow, _ := lookup("CRONCE_ALLOW_TARGET")
	proxy, err := targets.EnvironmentProxy(lookup)
	if err != nil {
		return nil, ofKind(errConfiguration, err)
	}
	remote, err := targets.New(targets.Config{
		Registry: reg, Lookup: lookup, Version: buildinfo.Version(""), Logger: logger, MaxInFlight: maxAtOnce,
		Allow: targets.SplitAllowed(allow), Proxy: proxy,
	})
	if err != nil {
		return nil, ofKind(errConfiguration, err)
	}
	h.caller = &caller{remote: remote, purge: h.purge(lookup), mails: h.mails()}
	h.publicURL, _ = lookup("CRONCE_PUBLIC_URL")
	return h, nil
}

// soundRegistry refuses what the daemon refuses: a variable that is not set,
// and keys that could expire before a call's last retry.
func soundRegistry(lookup func(string) (string, bool)) (*jobs.Registry, error) {
	path, set := lookup("CRONCE_CONFIG")
	if !set || path == "" {
		path = "cronce.yaml"
	}
	reg, problems := retention.CheckFile(path, lookup)
	if len(problems) > 0 {
		return nil, problems
	}
	return reg, nil
}
