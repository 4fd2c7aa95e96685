package verify

import "time"

// RemoteKeysAt is RemoteKeys with a clock.
func RemoteKeysAt(url string, now func() time.Time) Keys {
	k := RemoteKeys(url).(*remoteKeys)
	k.now = now
	return k
}
