package rig

import (
	"context"
	"fmt"
	"log"
	"strconv"
	"strings"
)

// Main is the rest of a program that measures, once its flags are read: it
// starts what is needed, lets measure work and ends what it has started. about
// says the date, the machine and the server.
func Main(measure func(ctx context.Context, b *Bench, about string) error) {
	log.SetFlags(0)
	if err := withBench(context.Background(), measure); err != nil {
		log.Fatal(err)
	}
}

func withBench(ctx context.Context, measure func(context.Context, *Bench, string) error) error {
	b, err := Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close(ctx) }()
	version, err := b.Databases.Version(ctx)
	if err != nil {
		return err
	}
	return measure(ctx, b, fmt.Sprintf("%s, %s", Machine(), version))
}

// Numbers reads a list of whole numbers with commas between them.
func Numbers(list string) (n []int, err error) {
	for _, s := range strings.Split(list, ",") {
		i, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil {
			return nil, err
		}
		n = append(n, i)
	}
	return n, nil
}
