package archtest_test

import (
	"slices"
	"testing"

	"github.com/cronce/cronce/internal/archtest"
)

// law is the module's import law. Tests may import more.
var law = archtest.Law{
	Layers: []archtest.Layer{
		{
			In:  []string{"internal/plaintext", "idempotency/store", "idempotency/keytable", "idempotency/ttl", "idempotency/retryafter", "internal/testdb/..."},
			May: []string{"internal/testdb"},
			Why: "a leaf imports no other package of the module",
		},
		{
			In:  []string{"idempotency"},
			May: []string{"idempotency/store", "idempotency/ttl", "idempotency/internal/pause", "idempotency/internal/vendorkey"},
			Why: "the kit knows no engine, and neither the purge nor the transport for vendors",
		},
		{
			In:  []string{"ledger"},
			May: []string{"internal/plaintext", "internal/clocks"},
			Why: "a leaf imports no other package of the module but for the rule of which texts it keeps, and to compare times",
		},
		{
			In:  []string{"migrations"},
			May: []string{"idempotency/keytable"},
			Why: "the table of keys belongs to the kit",
		},
		{
			In:  []string{"schedule"},
			May: []string{"internal/suggest", "internal/plural"},
			Why: "a leaf imports no other package of the module but for the words of its messages",
		},
		{
			In:  []string{"jobs"},
			May: []string{"schedule", "idempotency/ttl", "jobs/internal/field", "internal/hosts", "internal/plaintext", "internal/suggest"},
			Why: "a job has a schedule; everything else imports jobs",
		},
		{
			In:  []string{"jobs/internal/field"},
			May: []string{"internal/plaintext", "internal/suggest"},
			Why: "how a file is read does not depend on what is in it",
		},
		{
			In:  []string{"jobs/retention"},
			May: []string{"jobs", "internal/plural"},
			Why: "the proof follows from the registry alone",
		},
		{
			In:  []string{"jobs/dataschema"},
			May: []string{"jobs"},
			Why: "the library for JSON Schema is only in programs that take data: not in the Lambda",
		},
		{
			In:  []string{"internal/jobdiff"},
			May: []string{"jobs"},
			Why: "a comparison knows definitions, wherever they are stored",
		},
		{
			In:  []string{"executor"},
			May: []string{"jobs", "ledger", "schedule", "internal/clocks"},
			Why: "the executor holds ports; cmd hands it the adapters",
		},
		{
			In:  []string{"ledger/postgres", "ledger/sqlite", "ledger/memory", "ledger/ledgertest"},
			May: []string{"ledger", "ledger/internal/...", "migrations"},
			Why: "an engine knows its own tables and no other engine; the rules are in ledger",
		},
		{
			In:  []string{"ledger/postgres/migrate"},
			May: []string{"ledger/postgres", "migrations"},
			Why: "it is apart so that a program which migrates nothing does not carry the migrations",
		},
		{
			In:  []string{"targets"},
			May: []string{"jobs", "ledger", "executor", "idempotency/retryafter", "idempotency/ttl", "internal/clocks", "internal/sigv4", "internal/hosts", "internal/plaintext"},
			Why: "a target is called, whichever ledger the run is in",
		},
		{
			In:  []string{"targets/try"},
			May: []string{"jobs", "ledger", "executor", "targets", "targets/conform", "jobs/retention", "internal/hosts", "internal/plural"},
			Why: "a trial makes a target's calls, judges them by the retention proof, and names its checks after the cases of conform",
		},
		{
			In:  []string{"targets/conform"},
			May: []string{},
			Why: "it tests a service from outside, in whatever language, and knows only the wire",
		},
		{
			In: []string{"idempotency/postgres", "idempotency/pgsql", "idempotency/mysql", "idempotency/sqlite",
				"idempotency/internal/sqlkeys", "idempotency/internal/pgkeys"},
			May: []string{"idempotency/store", "idempotency/keytable", "idempotency/purge", "idempotency/internal/..."},
			Why: "an engine keeps keys, and knows neither the kit nor its handlers",
		},
		{
			In:  []string{"idempotency/..."},
			May: []string{"idempotency", "idempotency/..."},
			Why: "a service takes the kit without the scheduler: the kit is a module that does not require the root module",
		},
		{
			In:  []string{"cleanup"},
			May: []string{"jobs", "ledger", "idempotency/purge", "executor", "internal/plural"},
			Why: "the purge orchestrates through ports; the SQL stands beside each engine's expiry predicate",
		},
		{
			In:  []string{"notify"},
			May: []string{"jobs", "ledger", "executor", "internal/plaintext"},
			Why: "what is told follows from the ledger; how it is sent is a caller's business",
		},
		{
			In:  []string{"notify/mail"},
			May: []string{"notify", "jobs", "ledger", "executor", "internal/hosts"},
			Why: "a message is one call",
		},
		{
			In:  []string{"web"},
			May: []string{"jobs", "ledger", "schedule", "idempotency", "jobs/retention", "cleanup", "internal/access", "internal/jobdiff", "internal/operations", "internal/plural", "internal/plaintext"},
			Why: "the dashboard renders what its ports tell, and acts by the operators' own code, under keys of the API's form; cmd mounts it",
		},
		{
			In:  []string{"api/remote"},
			May: []string{"ledger", "internal/operations", "internal/hosts", "internal/plaintext"},
			Why: "a client knows the wire and the shapes of its answers, not the server",
		},
		{
			In:  []string{"internal/importer"},
			May: []string{"jobs", "schedule", "internal/hosts", "internal/plural", "internal/plaintext", "internal/suggest"},
			Why: "an import is a pure function of the files' bytes",
		},
		{
			In:  []string{"examples/..."},
			May: []string{"idempotency", "idempotency/...", "examples/...", "schedule", "jobs", "executor", "ledger", "ledger/...", "targets", "migrations"},
			Why: "an example is what a user can write, and a user cannot import the rest",
		},
	},
	Bans: slices.Concat(families("deploy", "keys", "operate", "registry", "serve", "storage", "target"), []archtest.Ban{
		{
			In:  []string{"internal/cli/command"},
			Not: []string{"github.com/cronce/cronce/internal/cli/..."},
			Why: "all commands share it",
		},
		{
			In:  []string{"schedule"},
			Not: []string{"net", "net/http/...", "database/sql/...", "os", "os/...", "syscall", "log", "log/slog"},
			Why: "a schedule is a pure function of time: the same on every replica",
		},
		{
			In: []string{"jobs"},
			// os is not among them: file.go reads the registry's file.
			Not: []string{"net", "net/http/...", "database/sql/...", "os/exec", "os/signal", "syscall", "log", "log/slog"},
			Why: "registries are computed, never fetched; a call is the executor's",
		},
		{
			In:  []string{"internal/importer"},
			Not: []string{"net/http/...", "os/exec", "log", "log/slog"},
			Why: "an import calls nothing and writes nothing",
		},
		{
			In:  []string{"ledger"},
			Not: []string{"net", "net/http/...", "database/sql/...", "os", "os/...", "io/fs", "syscall", "log", "log/slog"},
			Why: "the ledger's nouns do no I/O, so that every store, the executor and the tests can hold them",
		},
		{
			In:  []string{"executor"},
			Not: []string{"net", "net/http/...", "database/sql/...", "os/exec", "syscall"},
			Why: "the executor reaches databases and targets through its ports alone, so it can be simulated whole and embedded",
		},
		{
			In:  []string{"targets"},
			Not: []string{"database/sql/..."},
			Why: "a target is an HTTP service; what is known of a run comes with the call",
		},
		{
			In:  []string{"web"},
			Not: []string{"database/sql/...", "syscall"},
			Why: "the dashboard asks the ledger through its port",
		},
		{
			In:  []string{"cleanup"},
			Not: []string{"database/sql/..."},
			Why: "the SQL of a purge stands beside each engine's expiry predicate",
		},
		{
			In:  []string{"ledger/...", "schedule", "jobs", "executor", "targets", "cleanup", "idempotency/...", "migrations", "cmd/...", "internal/cli/..."},
			Not: []string{"github.com/cronce/cronce/internal/testdb/...", "github.com/cronce/cronce/internal/archtest"},
			Why: "the product starts no test servers",
		},
	}),
	Edges: []archtest.Edge{
		{Library: "github.com/robfig/cron/v3", At: []string{"schedule"}, Why: "a Schedule is one of its Schedules"},
		{Library: "github.com/goccy/go-yaml", At: []string{"jobs/internal/field", "internal/access", "internal/importer", "api/apitest"}, Why: "the registry's file is read in field alone, the access file in internal/access, manifests in internal/importer; apitest is for tests"},
		{Library: "github.com/google/uuid", At: []string{"executor", "jobs", "targets/try", "internal/operations", "api", "api/remote", "internal/cli/...", "cmd/lambda"}, Why: "run IDs are derived; only the token of a ~ run and lease tokens are drawn"},
		{Library: "github.com/go-co-op/gocron/v2", At: []string{"internal/cli/serve"}, Why: "it is the alarm clock, and identity never comes from a wake-up"},
		{Library: "github.com/jonboulle/clockwork", At: []string{"internal/cli/serve"}, Why: "gocron takes its clock as this library's type"},
		{Library: "github.com/spf13/cobra", At: []string{"internal/cli/..."}, Why: "the command line is read in one place"},
		{Library: "github.com/spf13/pflag", At: []string{"internal/cli/command"}, Why: "cobra hands out flags as its type"},
		{Library: "github.com/coreos/go-systemd/v22", At: []string{"internal/cli/serve"}, Why: "only the daemon has a service manager"},
		{Library: "github.com/coreos/go-oidc/v3", At: []string{"internal/access"}, Why: "who asks is proven in one place"},
		{Library: "github.com/go-jose/go-jose/v4", At: []string{"internal/access"}, Why: "the keys of an issuer are read where its tokens are verified"},
		{Library: "golang.org/x/time", At: []string{"internal/access"}, Why: "the API bounds how often an identity asks"},
		{Library: "golang.org/x/term", At: []string{"cmd/...", "internal/..."}, Why: "only a command knows a terminal"},
		{Library: "golang.org/x/text", At: []string{"internal/terminal", "jobs/dataschema"}, Why: "only a terminal has columns; the messages about data are printed with it"},
		{Library: "github.com/santhosh-tekuri/jsonschema/v6", At: []string{"jobs/dataschema", "api/apitest"}, Why: "data is checked in one place, which the Lambda does not link; apitest is for tests"},
		{Library: "github.com/jackc/pgx/v5", At: []string{"ledger/postgres", "idempotency/postgres", "migrations", "internal/testdb", "examples/service", "examples/conform"}, Why: "the driver stays in its engine, and a service opens its own pool"},
		{Library: "github.com/jackc/puddle/v2", At: []string{"ledger/postgres", "idempotency/postgres"}, Why: "pgx's pool: its errors are translated where the driver's are"},
		{Library: "modernc.org/sqlite", At: []string{"ledger/sqlite", "idempotency/sqlite", "migrations"}, Why: "the driver stays in its engine"},
		{Library: "github.com/go-sql-driver/mysql", At: []string{"idempotency/mysql", "internal/testdb", "examples/conform"}, Why: "the driver stays in its engine, and a service opens its own pool"},
		{Library: "github.com/lib/pq", At: nil, Why: "the engine on database/sql takes any driver; this one is for its tests"},
		{Library: "google.golang.org", At: []string{"idempotency/grpc"}, Why: "gRPC stays in its module, whose requirements the kit does not have"},
		{Library: "github.com/gin-gonic/gin", At: []string{"idempotency/gin"}, Why: "the framework stays in its adapter"},
		{Library: "github.com/labstack/echo/v4", At: []string{"idempotency/echo"}, Why: "the framework stays in its adapter"},
		{Library: "github.com/nats-io/nats.go", At: []string{"idempotency/nats"}, Why: "the client stays in its engine"},
		{Library: "github.com/nats-io/nats-server/v2", At: nil, Why: "the server is for tests"},
		{Library: "github.com/pressly/goose/v3", At: []string{"migrations"}, Why: "tables are made in migrations alone"},
		{Library: "github.com/sony/gobreaker/v2", At: []string{"targets"}, Why: "a breaker is a target's"},
		{Library: "github.com/go-logr/logr", At: []string{"internal/telemetry"}, Why: "OpenTelemetry hands out its log as its type"},
		{Library: "github.com/wneessen/go-mail", At: []string{"notify/mail"}, Why: "mail is sent in one place, which the Lambda does not carry"},
		{Library: "github.com/emersion/go-smtp", At: nil, Why: "the server is for tests"},
		{Library: "golang.org/x/oauth2", At: []string{"targets"}, Why: "tokens are for targets"},
		{Library: "github.com/aws/aws-lambda-go", At: []string{"cmd/lambda"}, Why: "the Lambda is one binary, and the rest does not know AWS"},
		{Library: "github.com/prometheus/client_golang", At: []string{"internal/telemetry"}, Why: "packages tell what happened through ports; how it is counted is decided once"},
		{Library: "github.com/prometheus/client_model", At: []string{"internal/telemetry"}, Why: "a gatherer of Prometheus hands out metrics as its type"},
		{Library: "go.opentelemetry.io/otel", At: []string{"internal/telemetry"}, Why: "packages tell what happened through ports; how it is traced is decided once"},
		{Library: "golang.org/x/sync", At: []string{"cmd/...", "executor", "cleanup", "internal/..."}, Why: "leaves need no groups of goroutines, and the kit needs only the standard library"},
		{Library: "pgregory.net/rapid", At: []string{"ledger/ledgertest", "idempotency/idempotencytest"}, Why: "it is for tests"},
		{Library: "go.uber.org/goleak", At: nil, Why: "it is for tests"},
	},
	Names: []archtest.Names{
		{
			In:  []string{"schedule", "jobs", "ledger"},
			Not: []string{"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.NewTimer", "time.NewTicker"},
			Why: "the clock comes in as an argument: the same question has the same answer in every replica",
		},
		{
			In:  []string{"..."},
			Not: []string{"os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln", "log.Print", "log.Printf", "log.Println", "log/slog.SetDefault", "log/slog.Info", "log/slog.Warn", "log/slog.Error", "log/slog.Debug"},
			Why: "only main ends the process, and there is no package-level logger",
		},
	},
}

// families keeps the families of commands apart, and what they share free of them.
func families(names ...string) (bans []archtest.Ban) {
	var all []string
	for _, name := range names {
		all = append(all, "github.com/cronce/cronce/internal/cli/"+name)
	}
	for i, name := range names {
		bans = append(bans, archtest.Ban{
			In:  []string{"internal/cli/" + name},
			Not: slices.Concat(all[:i], all[i+1:]),
			Why: "a family of commands knows no other; what two of them need is in command, backend or caller",
		})
	}
	return append(bans, archtest.Ban{In: []string{"internal/cli/backend", "internal/cli/caller"}, Not: all, Why: "families share it"})
}

func TestTheModuleKeepsItsLaw(t *testing.T) {
	module, err := archtest.Load("../..", "idempotency", "idempotency/echo", "idempotency/gin", "idempotency/grpc", "idempotency/nats", "internal/testdb")
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range archtest.Check(module, law) {
		t.Error(violation)
	}
}

func TestNestedModulesLookForGoroutinesLeftBehind(t *testing.T) {
	for _, root := range []string{"bench", "chaos", "examples/frameworks", "idempotency/stripetest", "web/browsertest"} {
		module, err := archtest.Load("../../" + root)
		if err != nil {
			t.Fatal(err)
		}
		for _, violation := range archtest.CheckLeaks(module) {
			t.Errorf("%s: %s", root, violation)
		}
	}
}

// The first edge of a library that matches is the one that counts.
func TestTheLawNamesNoLibraryTwice(t *testing.T) {
	seen := map[string]bool{}
	for _, edge := range law.Edges {
		if seen[edge.Library] {
			t.Errorf("%s has two edges", edge.Library)
		}
		seen[edge.Library] = true
		if edge.Why == "" {
			t.Errorf("%s: no reason", edge.Library)
		}
	}
}
