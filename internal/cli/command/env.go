// Package command is what all commands share: where they print, the environment, the global flags, and errors with exit
// codes.
//
// env.go has Env, which every command gets. A command prints through output.go (for programs), print.go and display.go
// (for people), reads times and names of its flags by times.go and names.go, and returns its mistakes by errors.go.
// traits.go marks what a command needs, a server or a ledger, and whether it prints IDs; Env.Begin refuses flags that
// do not fit these marks.
package command

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Env has what all commands use: their input and outputs, the environment, and the values of the global flags. Commands
// read none of these from package os, so that tests can give them everything.
type Env struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Version string                      // of the program
	Lookup  func(string) (string, bool) // reads an environment variable, as os.LookupEnv
	Now     func() time.Time            // for what is shown and read; the ledger has a clock of its own
	Exit    func(code int)              // ends the process

	// The global flags; see GlobalFlags for what each means.
	Config string
	DB     string // of backend: DatabaseURL has the default
	Server string
	Wide   bool
	// outputFlag and jsonFlag are what Output is read from.
	outputFlag string
	jsonFlag   bool
	Output     Output
	color      string
	utc, Local bool
	NoMigrate  bool
	// AllowTarget are hosts and networks, with commas between them.
	AllowTarget string
	// PublicURL is the flag of the commands that have it; "": none.
	PublicURL string
	logFormat string
	logLevel  string
}

// Getenv returns an environment variable, or otherwise if it is not set or empty.
func (env *Env) Getenv(name, otherwise string) string {
	if v, ok := env.Lookup(name); ok && v != "" {
		return v
	}
	return otherwise
}

// GlobalFlags adds the flags that every command has.
func (env *Env) GlobalFlags(flags *pflag.FlagSet) {
	flags.StringVar(&env.Config, "config", "cronce.yaml", "the registry `file`")
	flags.StringVar(&env.DB, "db", "", "the ledger: sqlite:PATH or postgres://... (env CRONCE_DATABASE_URL; default sqlite:cronce.db)")
	flags.StringVar(&env.Server, "server", "", "ask this server's API instead of a ledger: its `URL`; token in CRONCE_TOKEN")
	flags.StringVar(&env.AllowTarget, "allow-target", "", "call only these `hosts` and networks (CIDR), separated by commas")
	flags.StringVarP(&env.outputFlag, "output", "o", string(asTable), "print a table, json, or the IDs alone: id")
	flags.BoolVar(&env.jsonFlag, "json", false, "short for --output json")
	flags.BoolVar(&env.Wide, "wide", false, "print all columns, even on a narrow terminal")
	flags.StringVar(&env.color, "color", "auto", "auto (on a terminal, unless NO_COLOR is set), always or never")
	flags.BoolVar(&env.utc, "utc", false, "on a terminal, print times in UTC instead of distances from now")
	flags.BoolVar(&env.Local, "local", false, "print times of tables in this machine's time zone")
	flags.BoolVar(&env.NoMigrate, "no-migrate", false, "do not migrate the ledger's tables at start")
	flags.StringVar(&env.logFormat, "log-format", "text", "text or json")
	flags.StringVar(&env.logLevel, "log-level", "info", "debug, info, warn or error")
	FromEnv(flags, "config", "allow-target", "server", "no-migrate", "log-format", "log-level")
}

// Begin reads and checks the global flags. It is called before every command.
func (env *Env) Begin(c *cobra.Command, args []string) error {
	stopOnHangup(c)
	if err := refuseEmpty(c, args); err != nil {
		return err
	}
	if err := env.readEnv(c); err != nil {
		return err
	}
	return errors.Join(env.refuseServer(c), env.readOutput(c), env.checkDisplayFlags())
}
