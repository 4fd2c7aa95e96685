package target

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/cli/caller"
	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/notify"
)

func (a *app) notifyTestCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "test CHANNEL",
		Short: "Send a test notification to a channel of the registry",
		Long: `test sends one notification to a channel, without a ledger and without retries,
and shows what the receiver answered. On PagerDuty it opens an incident: resolve
it there.

Exit 0: the receiver accepted it. Exit 1: it did not.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.CheckPublicURL(c); err != nil {
				return err
			}
			return a.testChannel(c.Context(), args[0])
		},
	}
	c.Flags().StringVar(&a.PublicURL, "public-url", "", "the `URL` at which people reach the dashboard, for the link")
	command.FromEnv(c.Flags(), "public-url")
	return c
}

// tested is the result of a test.
type tested struct {
	Channel  string           `json:"channel"`
	Type     jobs.ChannelType `json:"type"`
	Accepted bool             `json:"accepted"`
	Status   int              `json:"status"`
	Error    string           `json:"error,omitempty"`
}

// testChannel makes one call to a channel as the notifier does, but at once, and without a run in the ledger.
func (a *app) testChannel(ctx context.Context, name string) error {
	reg, err := a.Registry()
	if err != nil {
		return err
	}
	channel, known := reg.Channel(name)
	if !known {
		var names []string
		for _, c := range reg.Channels() {
			names = append(names, c.Name)
		}
		return command.Unknown("channel", name, names, "the registry's notifications list the channels")
	}
	log, err := a.Logger()
	if err != nil {
		return err
	}
	calls, err := caller.New(a.Env, reg, nil, log)
	if err != nil {
		return err
	}
	defer calls.Close()
	now := a.Now()
	id := jobs.RunIDWithToken(channel.JobID(), now.UTC().Truncate(time.Second), uuid.NewString())
	call, err := notify.NewCall(notify.NewTestMessage(reg.Name(), a.PublicURL, channel, now), channel, id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, call.Timeout)
	defer cancel()
	answer := calls.Call(ctx, executor.Call{Registry: reg.Name(), Work: ledger.Work{
		RunID: id, JobID: channel.JobID(), ScheduledAt: now.UTC().Truncate(time.Second), Attempt: 1, Call: call,
	}})
	return a.printTested(tested{
		Channel: name, Type: channel.Type, Status: answer.Status, Error: answer.Error,
		Accepted: answer.Kind == ledger.AnswerFresh || answer.Kind == ledger.AnswerReplayed || answer.Kind == ledger.AnswerAccepted,
	})
}

// printTested prints the answer of the receiver. It ends with exit code 1 if the notification was not accepted.
func (a *app) printTested(t tested) error {
	var err error
	switch {
	case a.Encoded():
		err = a.Encode(t)
	case t.Accepted:
		_, err = fmt.Fprintf(a.Out, "channel %s (%s): accepted with status %d\n", t.Channel, t.Type, t.Status)
	default:
		_, err = terminal.Fprintf(a.Out, "channel %s (%s): not accepted: %s\n", t.Channel, string(t.Type), t.Error)
	}
	if err == nil && !t.Accepted {
		return command.ExitWith(command.ExitFailed)
	}
	return err
}
