package deploy

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/internal/export"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/jobs/retention"
	"github.com/cronce/cronce/targets"
)

func (a *app) exportCloudFormationCommand() *cobra.Command {
	var o export.Options
	c := &cobra.Command{
		Use:   "cloudformation",
		Short: "Print a CloudFormation template: schedules, function, alarms",
		Long: `cloudformation prints a template that runs the registry on EventBridge Scheduler
and Lambda: a schedule for each job, the function, its roles, a dead-letter
queue and alarms. The registry's platform section limits the age of events.

The function works on a PostgreSQL ledger. A tick every five minutes (every
minute if a job's async.poll is shorter) finishes runs that events left
unfinished, and makes up for events that never came. Jobs that AWS cannot
express, such as a schedule with seconds, or a rate that does not divide the
hour or the day, are driven by the tick, which then comes every minute; they are
named on standard error. With --tick it drives every job.

--stateless leaves out the ledger and the tick, and refuses such jobs.

Secrets are read from Secrets Manager: a parameter of the stack holds the ARN of
each. --secrets ssm reads them from the parameter store; --secrets plain puts
them into the function's configuration. With --secret-names acme/ there are no
parameters: the secret of MEMBERSHIP_TOKEN is named acme/MEMBERSHIP_TOKEN.

A template of more than 51,200 bytes (about 20 jobs) is deployed through a
bucket: aws cloudformation deploy --s3-bucket BUCKET.`,
		Example: `  make lambda CONFIG=cronce.yaml
  cronce export cloudformation > template.json
  aws cloudformation package --template-file template.json --s3-bucket BUCKET \
      --output-template-file packaged.yaml
  aws cloudformation deploy --template-file packaged.yaml --stack-name acme-jobs \
      --capabilities CAPABILITY_IAM --parameter-overrides \
      MembershipUrl=https://... MembershipToken=arn:aws:secretsmanager:... \
      CronceDatabaseUrl=arn:aws:secretsmanager:...`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.exportCloudFormation(o) },
	}
	exportFlags(c, &o)
	return c
}

func (a *app) exportTerraformCommand() *cobra.Command {
	var o export.Options
	c := &cobra.Command{
		Use:   "terraform",
		Short: "Print a Terraform configuration of the same resources",
		Long: `terraform prints a configuration in Terraform's JSON syntax (.tf.json), for the
provider hashicorp/aws. It has the same resources, with the same meaning, as the
template of "cronce export cloudformation", which describes them and the flags.

The configuration is a module: its variables are the template's parameters in
lower case (MembershipUrl is membership_url), and "name" and "code". It has no
provider block and no backend. No secret is read by Terraform or written to its
state, except with --secrets plain.`,
		Example: `  make lambda CONFIG=cronce.yaml
  cronce export terraform --secret-names acme/ > main.tf.json
  terraform init
  terraform apply -var membership_url=https://...`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.exportTerraform(o) },
	}
	exportFlags(c, &o)
	return c
}

// exportFlags adds the flags of every platform.
func exportFlags(c *cobra.Command, o *export.Options) {
	c.Flags().StringVar(&o.Code, "code", "", "the function's `zip` (default dist/lambda-arm64.zip, or -amd64)")
	c.Flags().StringVar(&o.Architecture, "architecture", "arm64", "arm64 or x86_64")
	c.Flags().StringVar(&o.Config, "bundled-config", "cronce.yaml", "the registry's `file` in the zip")
	c.Flags().BoolVar(&o.Tick, "tick", false, "one schedule, a tick a minute, instead of one for each job")
	c.Flags().BoolVar(&o.Stateless, "stateless", false, "no ledger and no tick")
	c.Flags().StringVar((*string)(&o.Secrets), "secrets", string(export.SecretsManager),
		"where the function finds its secrets: secretsmanager, ssm or plain")
	c.Flags().StringVar(&o.SecretNames, "secret-names", "",
		"find each secret under this `prefix` and its variable's name, without a parameter")
}

// exportCloudFormation prints the template. What a person must know about it goes to standard error, so that the output
// stays valid.
func (a *app) exportCloudFormation(o export.Options) error {
	reg, err := a.provedRegistry()
	if err != nil {
		return err
	}
	template, err := export.CloudFormation(reg, o)
	if err != nil {
		return notExported(err)
	}
	a.printTicked(template.Ticked)
	var text bytes.Buffer
	if err := template.Write(&text); err != nil {
		return err
	}
	if n := text.Len(); n > export.MaxInline {
		fmt.Fprintf(a.Err, "cronce: the template has %d bytes, and CloudFormation takes %d without a bucket: give `aws "+
			"cloudformation deploy` --s3-bucket BUCKET, too\n", n, export.MaxInline)
	}
	_, err = text.WriteTo(a.Out)
	return err
}

func (a *app) exportTerraform(o export.Options) error {
	reg, err := a.provedRegistry()
	if err != nil {
		return err
	}
	configuration, err := export.Terraform(reg, o)
	if err != nil {
		return notExported(err)
	}
	a.printTicked(configuration.Ticked)
	return configuration.Write(a.Out)
}

// provedRegistry returns the registry if its keys outlive its calls. The environment is not looked at: the function on
// AWS has another one.
func (a *app) provedRegistry() (*jobs.Registry, error) {
	reg, err := a.Registry()
	if err != nil {
		return nil, err
	}
	if problems := retention.Prove(reg); len(problems) > 0 {
		return nil, problems
	}
	return reg, nil
}

// notExported returns the error about jobs and settings that the platform cannot express.
func notExported(err error) error {
	return command.Usage("this registry cannot be exported as it is:\n%w", err)
}

// printTicked names the jobs that have no schedule of their own.
func (a *app) printTicked(ticked []export.Ticked) {
	for _, j := range ticked {
		fmt.Fprintf(a.Err, "cronce: the tick drives job %q (%s) once a minute: %v\n", j.JobID, j.Schedule, j.Why)
	}
}

func (a *app) exportJWKSCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "jwks",
		Short: "Print the public keys that verify calls of auth type jwt",
		Long: `jwks prints the JSON Web Key Set of the registry: the public keys of all targets
with auth type jwt, the one that signs and the one that signs next. serve
publishes the same set under /.well-known/jwks.json. Of the environment and
files it reads only the private keys.`,
		Example: `  cronce export jwks > jwks.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			reg, err := a.Registry()
			if err != nil {
				return err
			}
			set, err := targets.JWKS(reg, a.Lookup)
			if err != nil {
				return err
			}
			_, err = a.Out.Write(set)
			return err
		},
	}
}
