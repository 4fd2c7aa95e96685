package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestEqualFilesMakeEqualBytes(t *testing.T) {
	dir := t.TempDir()
	binary, config := filepath.Join(dir, "b"), filepath.Join(dir, "c")
	for _, path := range []string{binary, config} {
		if err := os.WriteFile(path, []byte(path[len(dir):]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var first, second bytes.Buffer
	if err := pack(&first, []string{"bootstrap=" + binary, "cronce.yaml=" + config}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(binary, time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := pack(&second, []string{"cronce.yaml=" + config, "bootstrap=" + binary}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the zips differ")
	}
	z, err := zip.NewReader(bytes.NewReader(first.Bytes()), int64(first.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if f := z.File[0]; f.Name != "bootstrap" || f.Mode().Perm() != 0o755 {
		t.Errorf("%s has the mode %s; Lambda could not start it", f.Name, f.Mode())
	}
}

func TestAnEntryHasAName(t *testing.T) {
	if err := pack(&bytes.Buffer{}, []string{"bootstrap"}); err == nil {
		t.Error("no error")
	}
}
