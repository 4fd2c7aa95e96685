package command

import (
	"log/slog"

	"github.com/cronce/cronce/internal/telemetry"
)

// Logger writes to standard error in the form and from the level of the flags.
func (env *Env) Logger() (*slog.Logger, error) {
	log, err := telemetry.NewLogger(env.Err, env.logFormat, env.logLevel)
	if err != nil {
		return nil, Usage("%w", err)
	}
	return log, nil
}
