package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/internal/export"
)

func (a *app) exportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the registry for a platform that fires it",
		Args:  knownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.exportCloudFormationCommand())
	return c
}

func (a *app) exportCloudFormationCommand() *cobra.Command {
	var o export.Options
	c := &cobra.Command{
		Use:   "cloudformation",
		Short: "Print a CloudFormation template: schedules, function, queue, alarm",
		Long: `cloudformation prints a template that runs the registry on EventBridge Scheduler
and Lambda: a schedule for each job, the function, its role, a dead-letter queue
and an alarm on it. Events may come as late as the registry's platform section
says, which check has proved to be within the life of the keys.

What AWS cannot express about a job is refused by name (seconds; daylight saving
otherwise than it does it). --tick drives every job, by one schedule that fires
once a minute; it needs a PostgreSQL ledger.

A template of more than 51,200 bytes (about 60 jobs) is deployed through a bucket:
aws cloudformation deploy --s3-bucket BUCKET.

AWS counts a rate that does not divide the day from its StartDate: such a
template is to be deployed within a quarter of an hour.`,
		Example: `  make lambda CONFIG=cronce.yaml
  cronce export cloudformation > template.json
  aws cloudformation package --template-file template.json --s3-bucket BUCKET --output-template-file packaged.yaml
  aws cloudformation deploy --template-file packaged.yaml --stack-name acme-jobs --capabilities CAPABILITY_IAM --parameter-overrides MembershipUrl=https://...`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.exportCloudFormation(o) },
	}
	c.Flags().StringVar(&o.Code, "code", "", "the function's `zip` (default dist/lambda-arm64.zip, or -amd64)")
	c.Flags().StringVar(&o.Architecture, "architecture", "arm64", "arm64 or x86_64")
	c.Flags().StringVar(&o.Config, "bundled-config", "cronce.yaml", "the registry's `file` in the zip")
	c.Flags().BoolVar(&o.Tick, "tick", false, "one schedule, a tick a minute, instead of one for each job")
	return c
}

func (a *app) exportCloudFormation(o export.Options) error {
	reg, err := a.registry()
	if err != nil {
		return err
	}
	if problems := cleanup.Prove(reg); len(problems) > 0 {
		return problems
	}
	o.Now = a.now()
	template, err := export.CloudFormation(reg, o)
	if err != nil {
		return &exit{exitUsage, fmt.Errorf("this registry cannot be exported as it is:\n%w", err)}
	}
	var text bytes.Buffer
	if err := template.Write(&text); err != nil {
		return err
	}
	if n := text.Len(); n > export.MaxInline {
		fmt.Fprintf(a.err, "cronce: the template has %d bytes, and CloudFormation takes %d without a bucket: give `aws cloudformation deploy` --s3-bucket BUCKET, too\n", n, export.MaxInline)
	}
	_, err = text.WriteTo(a.out)
	return err
}
