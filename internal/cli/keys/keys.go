package keys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/internal/cli/command"
	"github.com/cronce/cronce/targets"
)

func (a *app) keysGenerateCommand() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use:   "generate [FILE]",
		Short: "Make a private key for auth type jwt",
		Long: `generate makes a private key in PEM (PKCS #8) and prints it, or writes it to
FILE, which must not exist and which only its owner may read.`,
		Example: `  cronce keys generate /run/keys/current.pem
  cronce keys generate /run/keys/next.pem
  cronce export jwks`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.generateKey(targets.KeyType(kind), args) },
	}
	c.Flags().StringVar(&kind, "type", string(targets.Ed25519), "EdDSA (Ed25519) or ES256 (P-256)")
	return c
}

// generateKey prints a new private key, or writes it to a file that only its owner can read. It never replaces a file:
// a key that signs calls cannot be made again.
func (a *app) generateKey(kind targets.KeyType, args []string) error {
	key, err := targets.GenerateKey(kind)
	if err != nil {
		return command.Usage("--type: %v", err)
	}
	if len(args) == 0 {
		_, err = a.Out.Write(key)
		return err
	}
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return command.Usage("%s exists and is not overwritten; give another file, or rotate it (cronce keys rotate)", args[0])
	}
	if err != nil {
		return err
	}
	_, err = f.Write(key)
	return errors.Join(err, f.Sync(), f.Close())
}

func (a *app) keysRotateCommand() *cobra.Command {
	var key, next, kind string
	c := &cobra.Command{
		Use:   "rotate --key FILE --next-key FILE",
		Short: "Sign with the next key, and make another next one",
		Long: `rotate makes the next key the one that signs, and writes a new next key. A
running serve uses them within a second. Targets know the next key already,
because serve publishes it. After a rotation wait until they have read the
published set again before you rotate once more: five minutes with the kit's
verifier.`,
		Example: `  cronce keys rotate --key /run/keys/current.pem --next-key /run/keys/next.pem`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.rotateKeys(key, next, targets.KeyType(kind)) },
	}
	c.Flags().StringVar(&key, "key", "", "`file` of the key that signs (the registry's auth.key.file)")
	c.Flags().StringVar(&next, "next-key", "", "`file` of the key that signs next (auth.nextKey.file)")
	c.Flags().StringVar(&kind, "type", string(targets.Ed25519), "the new key: EdDSA (Ed25519) or ES256 (P-256)")
	for _, name := range []string{"key", "next-key"} {
		_ = c.MarkFlagRequired(name)
	}
	return c
}

// rotateKeys writes the next key over the one that signs before it makes a new next
// one: if it stops in between, both files hold the same key, and it can be repeated.
func (a *app) rotateKeys(key, next string, kind targets.KeyType) error {
	if filepath.Clean(key) == filepath.Clean(next) {
		return command.Usage("--key and --next-key are one file; each key has its own")
	}
	signs, err := os.ReadFile(next)
	if err != nil {
		return fmt.Errorf("--next-key: %w; cronce keys generate makes it", err)
	}
	if err := targets.CheckKey(signs); err != nil {
		return fmt.Errorf("--next-key: %s %w", next, err)
	}
	if _, err := os.Stat(key); err != nil {
		return fmt.Errorf("--key: %w; cronce keys generate makes it", err)
	}
	fresh, err := targets.GenerateKey(kind)
	if err != nil {
		return command.Usage("--type: %v", err)
	}
	if err := replaceFile(key, signs); err != nil {
		return err
	}
	if err := replaceFile(next, fresh); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "cronce: %s signs now; %s has a new key\n", key, next)
	return nil
}

// replaceFile puts another file in a file's place, whole, and for those who may read
// it now: the user who rotates keys is often not the user that serve runs as.
func replaceFile(path string, content []byte) error {
	path, err := filepath.EvalSymlinks(path) // a link stays one
	if err != nil {
		return err
	}
	former, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone by then, if all went well
	_, err = f.Write(content)
	if err = errors.Join(err, keepAccess(f, former), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
