// Command lambda-zip packs a Lambda function's zip. Equal files make equal bytes on
// every machine: the zip has no times and no owners, and one order.
//
//	lambda-zip -o function.zip bootstrap=bin/bootstrap cronce.yaml=cronce.yaml
package main

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "function.zip", "the zip to write")
	flag.Parse()
	if err := write(*out, flag.Args()); err != nil {
		log.Fatalln("lambda-zip:", err)
	}
}

func write(out string, entries []string) error {
	var packed bytes.Buffer
	if err := pack(&packed, entries); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, packed.Bytes(), 0o644)
}

// pack writes NAME=PATH entries, sorted by name. The file bootstrap is
// executable, as Lambda wants it.
func pack(w io.Writer, entries []string) error {
	z := zip.NewWriter(w)
	for _, entry := range slices.Sorted(slices.Values(entries)) {
		name, path, found := strings.Cut(entry, "=")
		if !found {
			return fmt.Errorf("%q is not NAME=PATH", entry)
		}
		if err := add(z, name, path); err != nil {
			return err
		}
	}
	return z.Close()
}

func add(z *zip.Writer, name, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	header := &zip.FileHeader{Name: name, Method: zip.Deflate}
	header.SetMode(0o644)
	if name == "bootstrap" {
		header.SetMode(0o755)
	}
	w, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}
