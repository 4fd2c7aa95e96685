package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopSignals end a command gracefully. A hangup that is ignored, as by nohup,
// stays so.
func stopSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// oneStop is how long signals after the first belong to it: timeout(1) and shells
// signal the process and then its group, and systemd may send SIGHUP right after
// SIGTERM.
const oneStop = 200 * time.Millisecond

// listedLeases bounds the run IDs in one log line.
const listedLeases = 20

// watchSignals logs the signal that stops the process gracefully, and ends the
// process at a second one, later than oneStop. Runs that it holds then stay leased: it logs which.
// The returned function ends the watch.
func watchSignals(log *slog.Logger, lease time.Duration, leased func() []string) (end func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)
	done, ended := make(chan struct{}), make(chan struct{})
	next := func() os.Signal {
		select {
		case s := <-signals:
			return s
		case <-done:
			return nil
		}
	}
	go func() {
		defer close(ended)
		first := next()
		if first == nil {
			return
		}
		log.Info("stopping gracefully; a second signal stops immediately", "signal", first.String())
		stopping := time.Now()
		second := next()
		for second != nil && time.Since(stopping) < oneStop {
			second = next()
		}
		if second != nil {
			ids := leased()
			log.Error("stopped immediately; runs stay leased until their leases expire", "signal", second.String(),
				"runs", len(ids), "lease", lease.String(), "runIds", ids[:min(len(ids), listedLeases)])
			os.Exit(exitFailed)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}
