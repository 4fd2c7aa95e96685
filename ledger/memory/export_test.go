package memory

import "time"

// Pass moves the ledger's clock on.
func (l *Ledger) Pass(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ahead += d
}
