#!/bin/sh
# Before a removal, but not before an upgrade. The ledger in /var/lib/cronce stays.
set -e
case "$1" in
remove | purge | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now cronce.service || echo "cronce: the service could not be stopped; see: journalctl -u cronce"
	fi
	;;
esac
